// Sessions: how long a person stays signed in, prompt, max_age, hints, signing out, and the cookies.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase, until } from '#test/support/appliance.ts'
import type { Browser } from './browser.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway
let email: string
let people = 0

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

const address = (more: Readonly<Record<string, string | null>> = {}): string =>
  authorizeUrl(setup.authUrl, setup.client.client_id, more)

interface Claims {
  readonly sub: string
  readonly auth_time: number
  readonly nonce?: string
}

async function tokensOf(code: string) {
  const answer = await redeem(setup.authUrl, setup.client, code)
  const { id_token, access_token } = (await answer.json()) as {
    readonly id_token: string
    readonly access_token: string
  }
  const body = Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()
  return { id_token, access_token, claims: JSON.parse(body) as Claims }
}

/** A browser in which a new person has just signed in, on a network of their own, and the claims that the client received. */
async function signedIn(): Promise<{ browser: Browser } & Awaited<ReturnType<typeof tokensOf>>> {
  email = `guest-${++people}@example.org`
  const browser = setup.browser({ 'x-forwarded-for': `198.51.100.${people}` })
  const back = await setup.signIn(browser, await browser.open(address({ nonce: 'n-1' })), email)
  return { browser, ...(await tokensOf(codeOf(back))) }
}

const hasSecondsPassed = (since: number) => Math.floor(Date.now() / 1000) > since

test('a second sign-in shows no page, with prompt=none too; id_token_hint must name the same person', async () => {
  const { browser, claims, id_token } = await signedIn()
  expect(claims.nonce).toBe('n-1')
  const silent = await tokensOf(codeOf(await browser.open(address({ prompt: 'none' }))))
  expect(silent.claims).toMatchObject({ sub: claims.sub, auth_time: claims.auth_time })
  expect(silent.claims.nonce).toBeUndefined()
  const hinted = await browser.open(address({ prompt: 'none', id_token_hint: id_token }))
  expect(codeOf(hinted)).not.toBe('')
  const stranger = await signedIn()
  const refused = await stranger.browser.open(address({ prompt: 'none', id_token_hint: id_token }))
  expect(refused.url).toContain('error=login_required')
})

test('with an id_token_hint, the sign-in of another person is not reported to the client', async () => {
  const { id_token, claims } = await signedIn()
  const wanted = email
  const asked = address({ id_token_hint: id_token })
  const another = setup.browser()
  const refused = await setup.signIn(another, await another.open(asked), 'another@example.org')
  const told = new URL(refused.url).searchParams
  expect(refused.url.startsWith(REDIRECT)).toBe(true)
  expect([told.get('error'), told.get('state')]).toEqual(['login_required', 'state-of-the-session'])
  expect(told.has('code')).toBe(false)
  const browser = setup.browser()
  const back = await setup.signIn(browser, await browser.open(asked), wanted)
  expect((await tokensOf(codeOf(back))).claims.sub).toBe(claims.sub)
})

test('prompt=login asks again, max_age only when the sign-in is older; auth_time says when it was', async () => {
  const { browser, claims } = await signedIn()
  await until(() => hasSecondsPassed(claims.auth_time + 1), 'two seconds have passed')
  const young = await tokensOf(codeOf(await browser.open(address({ max_age: '1000' }))))
  expect(young.claims.auth_time).toBe(claims.auth_time)
  const old = await browser.open(address({ max_age: '1' }))
  expect(old.text).toContain('name="email"')
  const again = await tokensOf(codeOf(await setup.signIn(browser, old, email)))
  expect(again.claims.auth_time).toBeGreaterThan(claims.auth_time)
  expect(again.claims.sub).toBe(claims.sub)
  expect((await browser.open(address({ prompt: 'login' }))).text).toContain('name="email"')
})

test('auth_time is the instant of the proof, however long the question of consent takes', async () => {
  const { browser } = await signedIn()
  const asked = await browser.open(address({ prompt: 'login consent' }))
  const consent = await setup.signIn(browser, asked, email)
  const proved = Math.floor(Date.now() / 1000)
  await until(() => hasSecondsPassed(proved + 1), 'two seconds have passed')
  const allowed = await browser.submit(consent, '/consent', { decision: 'allow' })
  const { claims } = await tokensOf(codeOf(allowed))
  expect(claims.auth_time).toBeLessThanOrEqual(proved)
})

test('prompt=select_account offers who is signed in, and accepts whichever one signs in', async () => {
  const { browser, claims } = await signedIn()
  const asked = await browser.open(address({ prompt: 'select_account' }))
  expect(asked.text).toContain(`Continue as <bdi>${email}</bdi>`)
  const same = await tokensOf(codeOf(await browser.submit(asked, '/continue', {})))
  expect(same.claims).toMatchObject({ sub: claims.sub, auth_time: claims.auth_time })
  const fresh = await browser.open(address({ prompt: 'select_account login' }))
  const proof = await browser.submit(fresh, '/continue', {})
  expect(proof.text).not.toContain('/continue"')
  expect(proof.text).toContain('name="email"')
  const other = await browser.open(address({ prompt: 'select_account' }))
  const leaving = await setup.signIn(browser, other, 'chosen@example.org')
  const back = await browser.submit(leaving, '/oauth/logout/confirm', {})
  const chosen = await tokensOf(codeOf(back))
  expect(chosen.claims.sub).not.toBe(claims.sub)
  const both = await browser.open(address({ prompt: 'select_account consent' }))
  const consent = await setup.signIn(browser, both, 'chosen@example.org')
  expect(consent.text).toContain('name="decision"')
  const alone = await browser.open(address({ prompt: 'none select_account' }))
  expect(new URL(alone.url).searchParams.get('error')).toBe('invalid_request')
})

test('parameters without a meaning here, and hints, are accepted without an error', async () => {
  const page = await setup.browser().open(
    address({
      extra: 'foobar',
      display: 'popup',
      acr_values: '1 2',
      claims_locales: 'se',
      ui_locales: 'ru',
      login_hint: 'me"><b>@example.org',
      state: 'x'.repeat(128),
    }),
  )
  expect(page.status).toBe(200)
  expect(page.text).toContain('lang="ru"')
  expect(page.text).not.toContain('me"><b>')
})

test('signing out asks for confirmation, ends the session and its tokens, and returns only to a registered address', async () => {
  const { browser, id_token, access_token } = await signedIn()
  const after = 'https://app.example.org/bye'
  setup.cli.json(['clients', 'edit', setup.client.client_id, '--logout-uri', after])
  const logout = (to: string) =>
    `${setup.authUrl}/oauth/logout?${new URLSearchParams({
      id_token_hint: id_token,
      post_logout_redirect_uri: to,
      state: 's-1',
    })}`
  expect((await browser.open(logout('https://evil.example/'))).status).toBe(400)
  const asked = await browser.open(logout(after))
  expect(asked.status).toBe(200)
  expect((await browser.open(address())).url.startsWith(REDIRECT)).toBe(true)
  const again = await browser.open(logout(after))
  const left = await browser.submit(again, '/oauth/logout/confirm', { logout: 'yes' })
  expect(left.url).toBe(`${after}?state=s-1`)
  expect((await browser.open(address())).text).toContain('name="email"')
  const userinfo = await fetch(`${setup.authUrl}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(userinfo.status).toBe(401)
})

test('a person who chooses to stay signed in is shown that, and stays so', async () => {
  const { browser } = await signedIn()
  for (const query of ['', `?client_id=${setup.client.client_id}`]) {
    const asked = await browser.open(`${setup.authUrl}/oauth/logout${query}`)
    const stayed = await browser.submit(asked, '/oauth/logout/confirm', {})
    expect(stayed.status).toBe(200)
    expect(stayed.text).toContain('<h1>You are still signed in</h1>')
    expect(stayed.text).toContain(email)
    expect(stayed.text.includes('Wiki &lt;b&gt;')).toBe(query !== '')
    expect(codeOf(await browser.open(address({ prompt: 'none' })))).not.toBe('')
  }
  const again = await browser.open(`${setup.authUrl}/oauth/logout`)
  const left = await browser.submit(again, '/oauth/logout/confirm', { logout: 'yes' })
  expect(left.text).toContain('<h1>You are signed out</h1>')
})

test('a sign-out form that another tab replaced, or that was already submitted, is out of date', async () => {
  const browser = setup.browser({ accept: 'text/html' })
  const start = await browser.open(address())
  await setup.signIn(browser, start, 'two-tabs@example.org')
  const [first, second] = [
    await browser.open(`${setup.authUrl}/oauth/logout`),
    await browser.open(`${setup.authUrl}/oauth/logout`),
  ]
  const pressed = (page: typeof first) =>
    browser.submit(page, '/oauth/logout/confirm', { logout: 'yes' })
  const answers = [await pressed(first), await pressed(second), await pressed(second)]
  expect(answers.map(({ text }) => /<h1>(.*?)<\/h1>/.exec(text)?.[1])).toEqual([
    'This page is out of date',
    'You are signed out',
    'This page is out of date',
  ])
})

describe('concurrent requests of one browser', () => {
  test('for several applications: each gets tokens', async () => {
    const { browser } = await signedIn()
    const apps = Array.from({ length: 6 }, (_, n) => setup.register(`Tab ${n}`))
    const statuses = await Promise.all(
      apps.map(async (app) => {
        const back = await browser.open(authorizeUrl(setup.authUrl, app.client_id))
        return (await redeem(setup.authUrl, app, codeOf(back))).status
      }),
    )
    expect(statuses).toEqual(apps.map(() => 200))
  })

  test('that complete a new sign-in: the browser stays signed in, for other applications too', async () => {
    const { browser } = await signedIn()
    const tabs = []
    for (let n = 0; n < 2; n++) {
      const asked = await browser.open(address({ prompt: 'login' }))
      const page = await browser.submit(asked, '/email', { email })
      tabs.push({ page, code: await setup.codeFor(email, n + 2) })
    }
    await Promise.all(tabs.map(({ page, code }) => browser.submit(page, '/code', { code })))
    const app = setup.register('Another')
    const back = await browser.open(authorizeUrl(setup.authUrl, app.client_id, { prompt: 'none' }))
    expect((await redeem(setup.authUrl, app, codeOf(back))).status).toBe(200)
  })
})

test('a session says from where it was last used, though nobody opened the pages of an account in it', async () => {
  email = `guest-${++people}@example.org`
  const browser = setup.browser({
    'x-forwarded-for': `198.51.100.${people}`,
    'user-agent': `Firefox/1 ${'x'.repeat(300)}`,
  })
  await setup.signIn(browser, await browser.open(address()), email)
  const from = {
    address: `198.51.100.${people}`,
    browser: `Firefox/1 ${'x'.repeat(190)}`,
    seen_at: null,
  }
  expect(setup.cli.json(['users', 'sessions', 'list', email])).toMatchObject([from])
})

test('the cookie of a session that has ended is ignored: nothing is stored, and no cookie is set', async () => {
  const { browser } = await signedIn()
  setup.cli.json(['users', 'sessions', 'revoke', email, '--yes'])
  const rows = () =>
    readDatabase(setup.cli, "SELECT 1 FROM artifacts WHERE kind = 'Session'").length
  const before = rows()
  const refused = await browser.open(address({ prompt: 'none' }))
  expect(new URL(refused.url).searchParams.get('error')).toBe('login_required')
  expect(refused.headers.getSetCookie()).toEqual([])
  expect(rows()).toBe(before)
})

test('a sign-in makes the runtime warn of nothing', async () => {
  await signedIn()
  expect(setup.appliance.said()).not.toContain('DeprecationWarning')
})

test('the sign-out confirmation is in the language of ui_locales', async () => {
  const { browser } = await signedIn()
  const asked = await browser.open(`${setup.authUrl}/oauth/logout?ui_locales=ru`)
  expect(asked.text).toContain('<html lang="ru">')
})

test('userinfo takes the token from the header or the form, never from the address', async () => {
  const { access_token } = await signedIn()
  const at = `${setup.authUrl}/oauth/userinfo`
  const headers = { authorization: `Bearer ${access_token}` }
  const body = new URLSearchParams({ access_token })
  expect((await fetch(at, { headers })).status).toBe(200)
  expect((await fetch(at, { method: 'POST', headers })).status).toBe(200)
  expect((await fetch(at, { method: 'POST', body })).status).toBe(200)
  expect((await fetch(`${at}?${body}`)).status).toBe(400)
})

test('claims follow the scopes', async () => {
  email = `guest-${++people}@example.org`
  const browser = setup.browser({ 'x-forwarded-for': `198.51.100.${people}` })
  const start = await browser.open(address({ scope: 'openid' }))
  const { access_token, claims } = await tokensOf(codeOf(await setup.signIn(browser, start, email)))
  expect(claims).not.toHaveProperty('email')
  const info = await fetch(`${setup.authUrl}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(await info.json()).toEqual({ sub: claims.sub })
})
