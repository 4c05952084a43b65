// Sign-in lifetimes: no session, cookie or token is valid for longer than docs/sign-in.md states.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DAY_MS, MINUTE_MS } from '#domain/clock.ts'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import {
  addressFor,
  ISSUER,
  openTestSignin,
  REDIRECT,
  type TestSignin,
} from './identities/test-signin.ts'

const HOUR_MS = 60 * MINUTE_MS

let deps: TestSignin

beforeEach(async () => {
  // The protocol library reads the system time itself.
  vi.useFakeTimers({ toFake: ['Date'] })
  deps = await openTestSignin()
})
afterEach(() => {
  vi.useRealTimers()
})

function advance(ms: number): void {
  deps.clock.advance(ms)
  vi.setSystemTime(deps.clock.now())
}

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

const SILENT = addressFor({ prompt: 'none' })
const OFFLINE = addressFor({ prompt: 'consent', scope: 'openid offline_access' })

/** Requests a code with prompt=none: returns `code`, or the error. */
async function askSilently(browser: Browser): Promise<string> {
  const { url } = await browser.open(SILENT)
  const query = new URL(url).searchParams
  return query.has('code') ? 'code' : (query.get('error') ?? url)
}

async function signedIn(): Promise<{ readonly browser: Browser; readonly back: Page }> {
  const browser = deps.browser()
  const back = await deps.byCode(browser, await deps.start(browser), 'guest@example.org')
  expect(back.url.startsWith(REDIRECT)).toBe(true)
  return { browser, back }
}

async function callToken(browser: Browser, grant: Readonly<Record<string, string>>) {
  const page = await browser.open(`${ISSUER}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'wiki', client_secret: 'secret', ...grant }),
  })
  const answer = JSON.parse(page.text) as Readonly<Record<string, string>>
  const { error, access_token, refresh_token } = answer
  return { status: page.status, error, access_token, refresh_token }
}

const redeem = (browser: Browser, { url }: Page) =>
  callToken(browser, {
    grant_type: 'authorization_code',
    code: new URL(url).searchParams.get('code') ?? '',
    code_verifier: VERIFIER,
  })

const renew = (browser: Browser, { refresh_token = '' }: Awaited<ReturnType<typeof redeem>>) =>
  callToken(browser, { grant_type: 'refresh_token', refresh_token })

/** Consents to offline access, as a person who is signed in. */
async function consented(browser: Browser) {
  const asked = await browser.open(OFFLINE)
  return redeem(browser, await browser.submit(asked, '/consent', { decision: 'allow' }))
}

const userinfo = async (browser: Browser, token = ''): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await browser.open(`${ISSUER}/oauth/userinfo`, { headers })).status
}

test('T10: a session ends after a day without use', async () => {
  const { browser } = await signedIn()
  advance(23 * HOUR_MS)
  expect(await askSilently(browser)).toBe('code')
  advance(23 * HOUR_MS)
  expect(await askSilently(browser)).toBe('code')
  advance(25 * HOUR_MS)
  expect(await askSilently(browser)).toBe('login_required')
})

test('T10: a session ends after fourteen days, even when used all the time', async () => {
  const { browser } = await signedIn()
  for (let hours = 12; hours < 14 * 24; hours += 12) {
    advance(12 * HOUR_MS)
    expect([hours, await askSilently(browser)]).toEqual([hours, 'code'])
  }
  advance(12 * HOUR_MS)
  for (let seconds = 0; seconds < 60; seconds += 5) {
    expect([seconds, await askSilently(browser)]).toEqual([seconds, 'login_required'])
    advance(5000)
  }
})

test('T10: a code lasts one minute, and an access token one hour', async () => {
  const { browser, back } = await signedIn()
  const { status, access_token } = await redeem(browser, back)
  expect(status).toBe(200)
  const late = await browser.open(SILENT)
  advance(61_000)
  expect(await redeem(browser, late)).toMatchObject({ status: 400, error: 'invalid_grant' })
  advance(58 * MINUTE_MS)
  expect(await userinfo(browser, access_token)).toBe(200)
  // Clock differences of some seconds are tolerated.
  advance(MINUTE_MS + 15_000)
  expect(await userinfo(browser, access_token)).toBe(401)
})

test('T10: a refresh token lasts 30 days from its own issue, also one that was issued by rotation', async () => {
  const { browser } = await signedIn()
  let tokens = await consented(browser)
  for (const days of [29, 58, 87]) {
    advance(29 * DAY_MS)
    tokens = await renew(browser, tokens)
    expect([days, tokens.status]).toEqual([days, 200])
    expect(await userinfo(browser, tokens.access_token)).toBe(200)
  }
  advance(30 * DAY_MS + MINUTE_MS)
  expect(await renew(browser, tokens)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test('T10: a refresh token used twice within ten seconds is refused; after that, reuse revokes the whole family', async () => {
  const { browser } = await signedIn()
  const first = await consented(browser)
  const second = await renew(browser, first)
  advance(9_000)
  expect(await renew(browser, first)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await userinfo(browser, second.access_token)).toBe(200)
  const third = await renew(browser, second)
  expect(third.status).toBe(200)
  advance(2_000)
  expect(await renew(browser, first)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await userinfo(browser, third.access_token)).toBe(401)
  expect(await renew(browser, third)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test('T10: what was issued on a clock far ahead ends when the clock is set back, and does not return', async () => {
  const { browser } = await signedIn()
  const tokens = await consented(browser)
  advance(-MINUTE_MS)
  expect(await askSilently(browser)).toBe('code')
  expect(await userinfo(browser, tokens.access_token)).toBe(200)
  advance(-HOUR_MS)
  for (const ms of [0, HOUR_MS + 2 * MINUTE_MS]) {
    advance(ms)
    expect(await askSilently(browser)).toBe('login_required')
    expect(await userinfo(browser, tokens.access_token)).toBe(401)
    expect((await renew(browser, tokens)).status).toBe(400)
  }
  const again = await signedIn()
  expect(await askSilently(again.browser)).toBe('code')
})

test('T10: a refresh token lasts 30 days also when the session is thirteen days old', async () => {
  const { browser } = await signedIn()
  for (let hours = 0; hours < 13 * 24; hours += 12) {
    advance(12 * HOUR_MS)
    expect(await askSilently(browser)).toBe('code')
  }
  const tokens = await consented(browser)
  advance(29 * DAY_MS)
  expect((await renew(browser, tokens)).status).toBe(200)
})

test('T10: a copy of the cookies is useless once their owner has signed out', async () => {
  const { browser, back } = await signedIn()
  const { access_token } = await redeem(browser, back)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const thief = (): Browser => deps.browser({ cookie })
  expect(await askSilently(thief())).toBe('code')
  const asked = await browser.open(`${ISSUER}/oauth/logout?client_id=wiki`)
  const left = await browser.submit(asked, '/oauth/logout/confirm', { logout: 'yes' })
  expect(left.status).toBe(200)
  expect(await askSilently(browser)).toBe('login_required')
  expect(await askSilently(thief())).toBe('login_required')
  expect(await userinfo(browser, access_token)).toBe(401)
})

test('T10: a mail code lasts ten minutes', async () => {
  const browser = deps.browser()
  const email = 'slow@example.org'
  const asked = await browser.submit(await deps.start(browser), '/email', { email })
  advance(10 * MINUTE_MS + 1)
  const late = await browser.submit(asked, '/code', { code: deps.mailedCodes.get(email) ?? '' })
  expect(late.url.startsWith(ISSUER)).toBe(true)
  expect(late.status).toBe(400)
})
