// Two providers over one store: whichever of them a request arrives at, the requests of one browser, one code and one form end as
// if they had come one after another.
import { expect, test } from 'vitest'
import { digestOf } from '#signin/register/digest.ts'
import { isSignedIn, openTestSignin, REDIRECT, type TestSignin } from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'
/** Of the challenge in every authorization request (RFC 7636, appendix B). */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

const redeem = (
  { ask }: TestSignin,
  client: string,
  code: string | null,
  verifier = VERIFIER,
): Promise<Response> =>
  ask('http://127.0.0.1:4141/oauth/token', {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${client}:secret`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: REDIRECT,
      code_verifier: verifier,
    }).toString(),
  })

const codeOf = ({ url }: { readonly url: string }): string | null =>
  new URL(url).searchParams.get('code')

async function openSignedIn() {
  const deps = await openTestSignin({ nodes: 2 })
  const browser = deps.browser()
  expect(isSignedIn(await deps.byCode(browser, await deps.start(browser), EMAIL))).toBe(true)
  return { deps, browser }
}

test('one browser that signs in to many applications at once gets tokens for each', async () => {
  const { deps, browser } = await openSignedIn()
  const apps = Array.from({ length: 7 }, (_, n) => `app-${n}`)
  for (const app of apps) await deps.register(app)
  // Each twice, as two tabs of it: the second must not take the grant from the first.
  const answers = await Promise.all(
    [...apps, ...apps].map(async (app) => {
      const back = await deps.start(browser, { client_id: app })
      return (await redeem(deps, app, codeOf(back))).status
    }),
  )
  expect(answers).toEqual([...apps, ...apps].map(() => 200))
  const session = digestOf(browser.cookies.get('session') ?? '')
  const kept = await deps.store.artifacts.find('Session', session)
  const { authorizations } = JSON.parse(kept?.payload ?? '{}') as {
    readonly authorizations: Readonly<Record<string, { readonly grantId: string }>>
  }
  expect(Object.keys(authorizations).sort()).toEqual([...apps, 'wiki'])
  for (const { grantId } of Object.values(authorizations)) {
    expect(await deps.store.artifacts.find('Grant', digestOf(grantId))).toBeDefined()
  }
  expect(deps.faults).toEqual([])
})

test('of many who redeem one code at once, at both, none keeps what it got', async () => {
  const { deps, browser } = await openSignedIn()
  const code = codeOf(await deps.start(browser))
  const answers = await Promise.all(Array.from({ length: 6 }, () => redeem(deps, 'wiki', code)))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 400)).toHaveLength(5)
  const [won] = answers.filter(({ ok }) => ok)
  const { access_token: token } = (await (won ?? Response.json({})).json()) as {
    readonly access_token?: string
  }
  const headers = { authorization: `Bearer ${token}` }
  // A code that comes again was stolen.
  expect((await deps.ask('http://127.0.0.1:4141/oauth/userinfo', { headers })).status).toBe(401)
  expect(deps.faults).toEqual([])
})

test('a verifier is guessed five times, at whichever, and then the code is of no use', async () => {
  const { deps, browser } = await openSignedIn()
  const code = codeOf(await deps.start(browser))
  const guess = (n: number) => redeem(deps, 'wiki', code, `${n}`.repeat(43))
  // At once, so that both may count the same guess.
  await Promise.all([1, 2, 3, 4].map(guess))
  expect((await guess(5)).status).toBe(400)
  expect((await redeem(deps, 'wiki', code)).status).toBe(400)
  const other = codeOf(await deps.start(browser))
  for (const n of [1, 2, 3, 4]) await redeem(deps, 'wiki', other, `${n}`.repeat(43))
  expect((await redeem(deps, 'wiki', other)).status).toBe(200)
  expect(deps.faults).toEqual([])
})

test('a code form that is submitted twice at once, to both, leads on twice and signs in once', async () => {
  const deps = await openTestSignin({ nodes: 2 })
  const browser = deps.browser()
  const asked = await browser.submit(await deps.start(browser), '/email', { email: EMAIL })
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const submit = () =>
    deps.ask(`${asked.url}/code`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
      body: `code=${deps.mailedCodes.get(EMAIL)}`,
    })
  const answers = await Promise.all([submit(), submit()])
  const onward = answers.map(({ headers }) => new URL(headers.get('location') ?? '', asked.url))
  expect(onward[1]?.pathname).toBe(onward[0]?.pathname)
  expect(onward[0]?.pathname).toContain('/oauth/authorize/')
  const back = []
  for (const { href } of onward) back.push(await browser.open(href))
  expect(back.filter(isSignedIn)).toHaveLength(1)
  expect(deps.faults).toEqual([])
})

test('a sign-out while applications are signed in to ends them all', async () => {
  const { deps, browser } = await openSignedIn()
  const apps = Array.from({ length: 4 }, (_, n) => `app-${n}`)
  for (const app of apps) await deps.register(app)
  const asked = await browser.open('http://127.0.0.1:4141/oauth/logout')
  const [, ...tokens] = await Promise.all([
    browser.submit(asked, '/oauth/logout/confirm', { logout: 'yes' }),
    ...apps.map(async (app) => {
      const back = await deps.start(browser, { client_id: app })
      if (!back.url.startsWith(REDIRECT)) return null
      const answer = await redeem(deps, app, codeOf(back))
      return ((await answer.json()) as { readonly access_token?: string }).access_token ?? null
    }),
  ])
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}` }
    expect((await deps.ask('http://127.0.0.1:4141/oauth/userinfo', { headers })).status).toBe(401)
  }
  expect((await deps.start(browser)).text).toContain('name="email"')
  expect(deps.faults).toEqual([])
})

test('at a first start of both there is one signing key', async () => {
  const { store } = await openTestSignin({ nodes: 2 })
  expect(await store.keyring.signingKeys()).toHaveLength(1)
})
