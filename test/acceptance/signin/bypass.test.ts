// Attempts to get a code without signing in: each is tried on the compiled program, and none succeeds.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway
let people = 0

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

const newEmail = (): string => `walker-${++people}@example.org`
const elsewhere = (): Browser => setup.browser({ 'x-forwarded-for': `198.18.2.${++people}` })

const address = (more: Readonly<Record<string, string>> = {}): string =>
  authorizeUrl(setup.authUrl, setup.client.client_id, more)

const start = (browser: Browser): Promise<Page> => browser.open(address())

/** Submits one of the provider's forms as its page would, whether or not the page offers it. */
const send = (
  browser: Browser,
  { url }: Page,
  step: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Page> =>
  browser.open(`${url}/${step}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: new URL(setup.authUrl).origin,
    },
    body: new URLSearchParams(fields).toString(),
  })

/** Checks that the browser did not reach the client with a code. */
function demandNoCode({ url, text }: Page): void {
  expect(url).not.toMatch(/[?&#]code=/)
  expect(text).not.toMatch(/[?&]code=[\w-]{43}/)
}

describe('T12: no code before sign-in, when', () => {
  test.each([
    [
      'consent is posted',
      (browser: Browser, page: Page) => send(browser, page, 'consent', { decision: 'allow' }),
    ],
    [
      'a code is posted that was never sent',
      (browser: Browser, page: Page) => send(browser, page, 'code', { code: '00000000' }),
    ],
    ['a code is posted empty', (browser: Browser, page: Page) => send(browser, page, 'code')],
    ['another code is requested', (browser: Browser, page: Page) => send(browser, page, 'resend')],
    [
      'the interaction is restarted',
      (browser: Browser, page: Page) => send(browser, page, 'restart'),
    ],
    [
      'the resume address is opened',
      (browser: Browser, page: Page) => browser.open(resumeOf(page)),
    ],
  ])('%s', async (_what, attempt) => {
    const browser = elsewhere()
    const page = await start(browser)
    demandNoCode(await attempt(browser, page))
    demandNoCode(await browser.open(resumeOf(page)))
    // Nor has the attempt left a state that would allow it.
    demandNoCode(await browser.open(address({ prompt: 'none' })))
    expect((await start(browser)).text).toContain('name="email"')
  })

  test('an address was given but not yet its code', async () => {
    const browser = elsewhere()
    const page = await start(browser)
    const email = newEmail()
    const asked = await browser.submit(page, '/email', { email })
    await setup.codeFor(email)
    demandNoCode(await browser.open(resumeOf(page)))
    demandNoCode(await send(browser, page, 'consent', { decision: 'allow' }))
    demandNoCode(await browser.open(address({ prompt: 'none' })))
    demandNoCode(await browser.open(address({ prompt: 'none', login_hint: email })))
    expect(asked.text).toContain('name="code"')
  })
})

const resumeOf = ({ url }: Page): string =>
  `${setup.authUrl}/oauth/authorize/${new URL(url).pathname.split('/').at(-1)}`

describe('T12: no code for another person', () => {
  test("with a hint, which proves nothing, even if it is that person's ID token", async () => {
    const victim = elsewhere()
    const back = await setup.signIn(victim, await start(victim), newEmail())
    const answer = await redeem(setup.authUrl, setup.client, codeOf(back))
    const { id_token } = (await answer.json()) as { readonly id_token: string }
    const refused = await elsewhere().open(address({ prompt: 'none', id_token_hint: id_token }))
    expect(new URL(refused.url).searchParams.get('error')).toBe('login_required')
    const asked = await elsewhere().open(address({ id_token_hint: id_token }))
    expect(asked.text).toContain('name="email"')
  })

  test('with a session cookie whose signature is invented or missing', async () => {
    const victim = elsewhere()
    await setup.signIn(victim, await start(victim), newEmail())
    const session = victim.cookies.get('session')
    for (const cookie of [
      `session=${session}`,
      `session=${session}; session.sig=${'x'.repeat(27)}`,
    ]) {
      const thief = setup.browser({ cookie })
      const refused = await thief.open(address({ prompt: 'none' }))
      expect(new URL(refused.url).searchParams.get('error')).toBe('login_required')
    }
  })

  test("with a code for one's own address, after another address was typed", async () => {
    const [own, victim] = [newEmail(), newEmail()]
    const browser = elsewhere()
    const page = await start(browser)
    await browser.submit(page, '/email', { email: own })
    const code = await setup.codeFor(own)
    await send(browser, page, 'email', { email: victim })
    await setup.codeFor(victim)
    demandNoCode(await send(browser, page, 'code', { code }))
  })

  test("with one's own code and another address in the same form", async () => {
    const [own, victim] = [newEmail(), newEmail()]
    const browser = elsewhere()
    const page = await start(browser)
    await browser.submit(page, '/email', { email: own })
    const code = await setup.codeFor(own)
    const back = await send(browser, page, 'code', {
      code,
      email: victim,
      accountId: victim,
      sub: victim,
    })
    const answer = await redeem(setup.authUrl, setup.client, codeOf(back))
    const { access_token } = (await answer.json()) as { readonly access_token: string }
    const headers = { authorization: `Bearer ${access_token}` }
    const userinfo = await fetch(`${setup.authUrl}/oauth/userinfo`, { headers })
    expect(await userinfo.json()).toMatchObject({ email: own, email_verified: true })
    expect(JSON.stringify(setup.cli.json(['users', 'list']))).not.toContain(victim)
  })
})

test('T12: an address counts as confirmed when its code was entered, not when an operator typed it', async () => {
  const email = newEmail()
  const isProved = (): unknown =>
    setup.cli.json<Record<string, unknown>>(['users', 'show', email])['email_verified']
  setup.cli.json(['users', 'add', email, '--name', 'Added'])
  expect(isProved()).toBe(false)
  setup.cli.json(['users', 'disable', email, '--yes'])
  setup.cli.json(['users', 'enable', email])
  expect(isProved()).toBe(false)
  const browser = elsewhere()
  const asked = await browser.submit(await start(browser), '/email', { email })
  const code = await setup.codeFor(email)
  expect(isProved()).toBe(false)
  await browser.submit(asked, '/code', { code })
  expect(isProved()).toBe(true)
})

test('T12: of ten concurrent uses of the right code one signs in', async () => {
  const browser = elsewhere()
  const email = newEmail()
  const page = await browser.submit(await start(browser), '/email', { email })
  const code = await setup.codeFor(email)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      fetch(`${page.url}/code`, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          cookie,
          origin: setup.authUrl,
        },
        body: `code=${code}`,
      }),
    ),
  )
  const leadsOn = ({ headers }: Response): boolean =>
    headers.get('location')?.includes('/oauth/authorize/') === true
  // A form that is submitted twice leads on twice, but the interaction is resumed once.
  const leading = answers.filter(leadsOn)
  expect(leading.length).toBeGreaterThan(0)
  const back = []
  for (const { headers } of leading) back.push(await browser.open(headers.get('location') ?? ''))
  expect(back.filter((end) => codeOf(end) !== '')).toHaveLength(1)
  for (const refused of answers.filter((answer) => !leadsOn(answer))) {
    expect(refused.headers.get('location') ?? '').not.toContain('code=')
    demandNoCode({ ...page, text: await refused.text() })
  }
})
