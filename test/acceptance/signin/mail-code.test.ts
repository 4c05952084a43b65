// Signing in by a mailed code (hardening §3.1): rate-limited, and without revealing who has an account.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { FULL } from '#test/support/tier.ts'
import type { Browser, Page } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  type SigninGateway,
} from './signin-gateway.ts'

/** A limit of twenty an hour once kept the next one out. */
const OFFICE = FULL ? 60 : 22

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

const start = (browser: Browser): Promise<Page> =>
  browser.open(authorizeUrl(setup.authUrl, setup.client.client_id))

/** Each from a network of its own, as reported by a proxy on this machine. */
let networks = 0
const elsewhere = (): Browser => setup.browser({ 'x-forwarded-for': `192.0.2.${++networks}` })

/** Eight digits that are not the code. */
const wrong = (code: string): string => String((Number(code) + 1) % 10 ** 8).padStart(8, '0')

test('the mail is plain: code, client, address; its subject contains nothing that a stranger chose', async () => {
  const browser = elsewhere()
  await browser.submit(await start(browser), '/email', { email: 'Reader@Example.ORG' })
  await setup.codeFor('Reader@example.org')
  const { source } = setup.mail.taken.at(-1) ?? { source: '' }
  expect(source).toContain('Subject: Your sign-in code\r\n')
  expect(source).toContain('Wiki <b>')
  expect(source).toContain(`192.0.2.${networks}`)
  expect(source).toContain('&lt;b&gt;')
})

test('spaces and hyphens in a typed code are ignored, and addresses that differ in case are one person', async () => {
  const browser = elsewhere()
  const asked = await browser.submit(await start(browser), '/email', { email: 'Fold@example.org' })
  const code = await setup.codeFor('Fold@example.org')
  const back = await browser.submit(asked, '/code', {
    code: ` ${code.slice(0, 4)}-${code.slice(4)} `,
  })
  expect(codeOf(back)).toMatch(/^[\w-]{43}$/)
  const again = elsewhere()
  await setup.signIn(again, await start(again), 'fold@example.org')
  const people = setup.cli.json<{ email: string }[]>(['users', 'list'])
  expect(people.filter(({ email }) => email.toLowerCase() === 'fold@example.org')).toHaveLength(1)
})

test('the fifth wrong attempt invalidates a code, even for the right one; a new code works', async () => {
  const browser = elsewhere()
  const email = 'guesser@example.org'
  let page = await browser.submit(await start(browser), '/email', { email })
  const code = await setup.codeFor(email)
  for (let n = 0; n < 4; n++) {
    page = await browser.submit(page, '/code', { code: wrong(code) })
    expect(page.status).toBe(400)
  }
  const { url } = page
  expect((await browser.submit(page, '/code', { code: wrong(code) })).status).toBe(400)
  const late = await browser.submit(page, '/code', { code })
  expect(late.status).toBe(400)
  expect(late.url.startsWith(REDIRECT)).toBe(false)
  const renewed = await browser.submit({ ...late, url }, '/resend', {})
  const back = await browser.submit(renewed, '/code', { code: await setup.codeFor(email, 2) })
  expect(back.url.startsWith(REDIRECT)).toBe(true)
})

test('a code that is submitted twice at once, by a double click, signs in by the second answer too', async () => {
  const browser = elsewhere()
  const email = 'double-click@example.org'
  const asked = await browser.submit(await start(browser), '/email', { email })
  const code = await setup.codeFor(email)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const submit = () =>
    fetch(`${asked.url}/code`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
      body: `code=${code}`,
    })
  const answers = await Promise.all([submit(), submit()])
  const [first = '', second = ''] = answers.map(({ headers }) => headers.get('location') ?? '')
  expect(new URL(second, setup.authUrl).pathname).toBe(new URL(first, setup.authUrl).pathname)
  // The browser follows only the second.
  expect((await browser.open(second)).url).toContain('code=')
})

test('T13: of 60 concurrent wrong guesses five are checked, and the right code is then refused', async () => {
  const browser = elsewhere()
  const email = 'parallel@example.org'
  const page = await browser.submit(await start(browser), '/email', { email })
  const code = await setup.codeFor(email)
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => browser.submit(page, '/code', { code: wrong(code) })),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
  const withTriesLeft = answers.filter(({ text }) => /name="code"/.test(text))
  expect(withTriesLeft).toHaveLength(4)
  const late = await browser.submit(page, '/code', { code })
  expect(late.status).toBe(400)
  expect(late.url.startsWith(REDIRECT)).toBe(false)
})

test('a new code invalidates the old one; a code of another interaction never works', async () => {
  const browser = elsewhere()
  const email = 'renewed@example.org'
  const page = await browser.submit(await start(browser), '/email', { email })
  const first = await setup.codeFor(email)
  await browser.submit(page, '/resend', {})
  const second = await setup.codeFor(email, 2)
  if (first !== second) {
    expect((await browser.submit(page, '/code', { code: first })).status).toBe(400)
  }
  const other = elsewhere()
  const theirs = await other.submit(await start(other), '/email', { email })
  await setup.codeFor(email, 3)
  expect((await other.submit(theirs, '/code', { code: second })).status).toBe(400)
  expect((await browser.submit(page, '/code', { code: second })).url.startsWith(REDIRECT)).toBe(
    true,
  )
})

describe('rate limits', () => {
  const ask = async (browser: Browser, email: string): Promise<number> =>
    (await browser.submit(await start(browser), '/email', { email })).status

  test('five codes for one address from one network in a quarter of an hour', async () => {
    const email = 'flooded@example.org'
    const network = `192.0.2.${++networks}`
    const statuses = []
    for (let n = 0; n < 7; n++) {
      statuses.push(await ask(setup.browser({ 'x-forwarded-for': network }), email))
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    await setup.codeFor(email, 5)
    expect(setup.mail.taken.filter(({ to }) => to.includes(email))).toHaveLength(5)
  })

  test('a stranger locks nobody out: not from one network, not from many, and not a known browser in its own', async () => {
    const email = 'named@example.org'
    const own = '192.0.2.200'
    const known = setup.browser({ 'x-forwarded-for': own })
    await setup.signIn(known, await start(known), email)
    const strange = []
    for (let n = 0; n < 40; n++) {
      // Of four networks, of which one is the person's own.
      const network = n % 4 === 0 ? own : `198.51.100.${n % 4}`
      strange.push(await ask(setup.browser({ 'x-forwarded-for': network }), email))
    }
    const mailed = strange.filter((status) => status === 200).length
    expect(mailed).toBeLessThan(25)
    await setup.codeFor(email, 1 + mailed)
    const login = authorizeUrl(setup.authUrl, setup.client.client_id, { prompt: 'login' })
    const again = await setup.signIn(known, await known.open(login), email)
    expect(codeOf(again)).toMatch(/^[\w-]{43}$/)
    const fresh = setup.browser({ 'x-forwarded-for': '203.0.113.77' })
    expect(codeOf(await setup.signIn(fresh, await start(fresh), email))).toMatch(/^[\w-]{43}$/)
    // A browser is known for the addresses that were verified in it.
    const other = setup.browser({ 'x-forwarded-for': own })
    await setup.signIn(other, await start(other), 'other@example.org')
    const anew = await other.open(login)
    expect((await other.submit(anew, '/email', { email })).status).toBe(429)
  })

  test('many people behind one address sign in; an address that very many ask for gets longer codes', async () => {
    const office = { 'x-forwarded-for': '203.0.113.1' }
    for (let n = 0; n < OFFICE; n++) {
      const browser = setup.browser(office)
      const back = await setup.signIn(browser, await start(browser), `office-${n}@example.org`)
      expect(codeOf(back)).toMatch(/^[\w-]{43}$/)
    }
    const email = 'hunted@example.org'
    for (let n = 0; n < 100; n++) {
      expect(await ask(setup.browser({ 'x-forwarded-for': `198.18.0.${n}` }), email)).toBe(200)
    }
    const browser = setup.browser({ 'x-forwarded-for': '198.18.1.1' })
    const page = await browser.submit(await start(browser), '/email', { email })
    const long = /^(\d{4}) (\d{4}) (\d{4})\r?$/m
    const sent = () =>
      setup.mail.taken.filter(({ to, source }) => to.includes(email) && long.test(source))
    await until(() => sent().length > 0, 'a code of twelve digits was mailed')
    const [code = ''] = long.exec(sent().at(-1)?.source ?? '') ?? []
    expect(codeOf(await browser.submit(page, '/code', { code }))).toMatch(/^[\w-]{43}$/)
  })

  test('the limits are settings; a /64 is one network', async () => {
    const tight = await openSigninGateway({
      GATEWAY_AUTH_CODES_PER_ADDRESS: '1',
      GATEWAY_AUTH_CODES_PER_NETWORK: '3',
      GATEWAY_AUTH_SIGNINS_PER_NETWORK: '6',
    })
    try {
      const from = async (address: string, email: string): Promise<number> => {
        const browser = tight.browser({ 'x-forwarded-for': address })
        const page = await browser.open(authorizeUrl(tight.authUrl, tight.client.client_id))
        if (page.status !== 200) return page.status
        return (await browser.submit(page, '/email', { email })).status
      }
      const statuses = []
      for (const n of [0, 0, 1, 2, 3]) {
        statuses.push(await from(`2001:db8:0:1::${n + 1}`, `visitor-${n}@example.org`))
      }
      expect(statuses).toEqual([200, 429, 200, 200, 429])
      expect(await from('2001:db8:0:2::1', 'visitor-4@example.org')).toBe(200)
      expect(await from('2001:db8:0:1::9', 'visitor-5@example.org')).toBe(429)
      const late = tight.browser({ 'x-forwarded-for': '2001:db8:0:1::9' })
      const page = await late.open(authorizeUrl(tight.authUrl, tight.client.client_id))
      expect([page.status, page.headers.has('retry-after')]).toEqual([429, true])
    } finally {
      await tight.close()
    }
  })
})

test('every form is answered by a redirect to a page that can be loaded again: no attempt is used, and no mail is sent', async () => {
  const browser = elsewhere()
  const email = 'reloaded@example.org'
  const begun = await start(browser)
  const answers: string[] = []
  const submit = async (step: string, body: Readonly<Record<string, string>>): Promise<Page> => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const posted = await fetch(`${begun.url}/${step}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie },
      body: new URLSearchParams(body),
    })
    const location = posted.headers.get('location') ?? ''
    const typed = posted.headers.getSetCookie().map((one) => one.split(';')[0])
    answers.push(`${posted.status} ${location.replace(new URL(begun.url).pathname, '')}`)
    const headers = { cookie: [cookie, ...typed].join('; ') }
    const loaded = await Promise.all(
      [1, 2].map(async () => (await fetch(new URL(location, begun.url), { headers })).text()),
    )
    expect(loaded[0]).toBe(loaded[1])
    return { ...begun, text: loaded[0] ?? '' }
  }
  expect((await submit('email', { email: 'a b@x' })).text).toContain('value="a b@x"')
  await submit('email', { email })
  const code = await setup.codeFor(email)
  expect((await submit('code', { code: '12' })).text).toContain('name="code"')
  expect((await submit('code', { code: wrong(code) })).text).toContain('4 attempts are left')
  expect((await submit('code', { code: wrong(code) })).text).toContain('3 attempts are left')
  expect((await submit('resend', {})).text).toContain('A new code is on its way')
  for (let n = 2; n < 5; n++) await submit('resend', {})
  expect((await submit('resend', {})).text).toMatch(/A new one can be sent in 1[45] minutes/)
  expect((await submit('identity/gone', {})).text).toContain('no longer offered')
  await submit('restart', {})
  expect((await submit('code', { code })).text).toContain('name="email"')
  expect(answers.map((answer) => answer.replace(/until=\d+/, 'until=T'))).toEqual([
    '303 ?after=email&problem=unreadable',
    '303 ',
    '303 ?after=code&problem=unreadable',
    '303 ?after=code&problem=wrong&left=4',
    '303 ?after=code&problem=wrong&left=3',
    ...Array(4).fill('303 ?after=resend'),
    '303 ?after=resend&problem=too-many-codes&until=T',
    '303 ?after=identity&problem=identity-gone&provider=gone',
    '303 ',
    '303 ',
  ])
  await setup.codeFor(email, 5)
  expect(setup.mail.taken.filter(({ to }) => to.includes(email))).toHaveLength(5)
})

test.each([
  'nobody',
  'a@',
  '@example.org',
  'a b@example.org',
  '"a b"@example.org',
  'a@example.org\r\nBcc: x@example.org',
  'a@127.0.0.1',
  `${'a'.repeat(300)}@example.org`,
])('%j is not an address, and no mail is sent', async (email) => {
  const before = [...setup.mail.asked]
  const browser = elsewhere()
  const page = await browser.submit(await start(browser), '/email', { email })
  expect(page.status).toBe(400)
  expect(page.text).toContain('name="email"')
  const strange = setup.mail.asked.slice(before.length).filter((to) => !to.startsWith('visitor-'))
  expect(strange).toEqual([])
})

describe("T12: a form that was not sent from the provider's own page", () => {
  const post = (page: Page, headers: Record<string, string>, cookie: string) =>
    fetch(`${page.url}/email`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie, ...headers },
      body: 'email=victim%40example.org',
    })

  test.each([
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling site', { 'sec-fetch-site': 'same-site' }],
    ['from another origin', { origin: 'https://evil.example' }],
    ['from an opaque origin', { origin: 'null' }],
  ])('%s is refused', async (_what, headers) => {
    const browser = elsewhere()
    const page = await start(browser)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    expect((await post(page, headers, cookie)).status).toBe(403)
    expect((await post(page, { 'sec-fetch-site': 'same-origin' }, cookie)).status).toBe(303)
  })

  test("without the interaction's cookie, or with an invented one, is refused", async () => {
    const browser = elsewhere()
    const page = await start(browser)
    const own = { 'sec-fetch-site': 'same-origin' }
    expect((await post(page, own, 'session=none')).status).toBe(400)
    const uid = new URL(page.url).pathname.split('/').at(-1)
    expect(
      (await post(page, own, `interaction=${uid}; interaction.sig=${'x'.repeat(27)}`)).status,
    ).toBe(400)
  })
})

test('the page looks the same for known and unknown people, also where sign-up is off', async () => {
  const closed = await openSigninGateway({ GATEWAY_AUTH_SIGNUP: 'closed' })
  try {
    closed.cli.json(['users', 'add', 'known@example.org', '--name', 'Known'])
    const look = async (email: string) => {
      const browser = closed.browser()
      const page = await browser.open(authorizeUrl(closed.authUrl, closed.client.client_id))
      const { status, text } = await browser.submit(page, '/email', { email })
      return {
        status,
        text: text.replaceAll(email, 'EMAIL').replace(/\/sign-in\/[\w-]+/g, '/sign-in/UID'),
      }
    }
    expect(await look('nobody@example.org')).toEqual(await look('known@example.org'))
    await closed.codeFor('known@example.org')
    const stranger = closed.mail.taken.find(({ to }) => to.includes('nobody@example.org'))
    expect(stranger?.source).not.toMatch(/\d{4} \d{4}\r?$/m)
    expect(closed.cli.json<unknown[]>(['users', 'list'])).toHaveLength(1)
    const events = (...flags: readonly string[]) =>
      closed.cli
        .json<{ outcome: string; email: string }[]>(['users', 'events', ...flags])
        .map(({ outcome, email }) => [outcome, email])
    const refused = ['unknown_address', 'nobody@example.org']
    expect(events('--refused')).toEqual([refused])
    expect(events('--person', 'nobody@example.org', '--client', closed.client.client_id)).toEqual([
      refused,
    ])
    expect(events('--person', 'KNOWN@example.org')).toEqual([
      ['code_sent', 'known@example.org'],
      ['users.add', 'known@example.org'],
    ])
    expect(events('--client', closed.client.client_id, '--outcome', 'clients.create')).toEqual([
      ['clients.create', null],
    ])
  } finally {
    await closed.close()
  }
})
