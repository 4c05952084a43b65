// The log of signing in: who entered which application, who was refused, from where; and that strangers cannot fill a disk with it.

import { expect, onTestFinished, test } from 'vitest'
import { ACCEPTED, REFUSED, type SigninEvent } from '#signin/register/signin-event.ts'
import { readPage } from '#test/acceptance/documented/pages.ts'
import { anAct } from '#test/support/nouns.ts'
import { openIssuer } from '#test/support/third-party.ts'
import {
  onwardFrom,
  openTestSignin,
  REDIRECT,
  type TestSigninOptions,
} from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'

async function open(options: TestSigninOptions = {}) {
  const observed: SigninEvent[] = []
  const deps = await openTestSignin({ ...options, observed: (event) => observed.push(event) })
  /** What was noted since the last look, oldest first, without what differs each time. */
  let seen = 0
  const news = async () => {
    const all = [...(await deps.store.events.list({ limit: 999 }))].reverse()
    const fresh = all.slice(seen)
    seen = all.length
    return fresh
  }
  const outcomes = async () => (await news()).map(({ outcome }) => outcome)
  return { ...deps, observed, news, outcomes }
}

test('each entry of an application says who, how and from where: by a code, by the session, by a third party', async () => {
  const deps = await open()
  const browser = deps.browser()
  await deps.byCode(browser, await deps.start(browser), EMAIL)
  const ann = await deps.store.people.findByEmail(EMAIL)
  const from = { clientId: 'wiki', address: '192.0.2.1', email: EMAIL }
  expect(await deps.news()).toMatchObject([
    { outcome: 'code_sent', personId: null, method: null, ...from },
    { outcome: 'signed_up', personId: ann?.id, ...from },
    { outcome: 'signed_in', personId: ann?.id, method: 'code', detail: null, ...from },
  ])
  await deps.start(browser)
  expect(await deps.news()).toMatchObject([
    { outcome: 'signed_in', personId: ann?.id, method: 'session', ...from },
  ])

  const issuer = openIssuer()
  onTestFinished(() => issuer.close())
  await deps.add(issuer.url)
  const other = deps.browser()
  const viaSso = async () => {
    const page = await deps.start(other, { prompt: 'login' })
    const address = onwardFrom(await other.submit(page, '/identity/sso', {}))
    return other.open(issuer.consent(address))
  }
  await deps.byCode(other, await viaSso(), EMAIL)
  expect(await deps.outcomes()).toEqual(['code_sent', 'identity_linked', 'signed_in'])
  await viaSso()
  expect(await deps.news()).toMatchObject([
    { outcome: 'signed_in', personId: ann?.id, method: 'sso', ...from },
  ])
  expect(deps.observed).toHaveLength(8)
  await deps.store.people.remove(ann?.id ?? 'usr_', anAct())
  const [newest] = await deps.store.events.list({ limit: 1 })
  expect(newest).toMatchObject({ personId: ann?.id, email: null })
})

test('each refusal is noted once: of codes, of the disabled, of strangers, of applications', async () => {
  const deps = await open({ signup: [] })
  const ann = await deps.withVerified(EMAIL)
  const browser = deps.browser()
  const asked = await browser.submit(await deps.start(browser), '/email', { email: EMAIL })
  const code = deps.mailedCodes.get(EMAIL) ?? ''
  const wrong = String((Number(code) + 1) % 10 ** 8).padStart(8, '0')
  await browser.submit(asked, '/code', { code: wrong })
  expect(await deps.news()).toMatchObject([
    { outcome: 'code_sent', personId: ann.id },
    { outcome: 'wrong_code', personId: ann.id, clientId: 'wiki' },
  ])
  await deps.store.people.setDisabled(ann.id, true, anAct())
  const late = deps.browser()
  await deps.byCode(late, await deps.start(late), EMAIL)
  expect(await deps.outcomes()).toEqual(['code_sent', 'disabled'])

  const stranger = deps.browser()
  await stranger.submit(await deps.start(stranger), '/email', { email: 'bob@elsewhere.example' })
  expect(await deps.news()).toMatchObject([
    { outcome: 'unknown_address', personId: null, email: 'bob@elsewhere.example' },
  ])

  const token = (fields: Readonly<Record<string, string>>) =>
    deps.ask('http://127.0.0.1:4141/oauth/token', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'wiki', grant_type: 'authorization_code', ...fields }),
    })
  await token({ client_secret: 'not this', code: 'x', redirect_uri: REDIRECT })
  await token({ client_secret: 'secret', code: 'x', redirect_uri: REDIRECT })
  expect(await deps.news()).toMatchObject([
    { outcome: 'invalid_client', clientId: 'wiki', detail: expect.any(String) },
    { outcome: 'invalid_grant', clientId: 'wiki', detail: expect.any(String) },
  ])
  const wrongSecret = new URLSearchParams({ client_id: 'wiki', client_secret: 'no', token: 'x' })
  await deps.ask('http://127.0.0.1:4141/oauth/revoke', { method: 'POST', body: wrongSecret })
  await deps.ask('http://127.0.0.1:4141/oauth/logout?client_id=nobody')
  expect(await deps.news()).toMatchObject([
    { outcome: 'invalid_client', clientId: 'wiki' },
    { outcome: 'invalid_client', clientId: null },
  ])
  await deps.start(deps.browser(), { client_id: 'nobody' })
  await deps.start(deps.browser(), { redirect_uri: 'https://evil.example/' })
  expect(await deps.news()).toMatchObject([
    { outcome: 'invalid_client', clientId: null },
    { outcome: 'invalid_redirect_uri', clientId: 'wiki' },
  ])
  await deps.start(deps.browser(), { prompt: 'none' })
  expect(await deps.news()).toEqual([])
  expect(JSON.stringify(deps.observed)).not.toMatch(new RegExp(`${code}|not this`))
})

test('a code that is spent, expired or asked for too often is noted, and a person who was signed out meanwhile', async () => {
  const deps = await open({
    limits: { codesPerAddress: 2, codesPerNetwork: 200, signinsPerNetwork: 99 },
  })
  const browser = deps.browser()
  const asked = await browser.submit(await deps.start(browser), '/email', { email: EMAIL })
  const code = () => deps.mailedCodes.get(EMAIL) ?? ''
  const wrong = String((Number(code()) + 1) % 10 ** 8).padStart(8, '0')
  for (let nth = 0; nth < 5; nth++) await browser.submit(asked, '/code', { code: wrong })
  expect(await deps.outcomes()).toEqual([
    'code_sent',
    ...Array.from({ length: 4 }, () => 'wrong_code'),
    'code_spent',
  ])
  const again = await browser.submit(asked, '/resend', {})
  expect(await deps.outcomes()).toEqual(['code_sent'])
  await browser.submit(again, '/resend', {})
  expect(await deps.news()).toMatchObject([{ outcome: 'too_many_codes', email: EMAIL }])
  deps.clock.advance(11 * 60_000)
  await browser.submit(again, '/code', { code: code() })
  expect(await deps.news()).toMatchObject([{ outcome: 'code_expired', email: EMAIL }])

  const ann = await deps.withVerified(EMAIL)
  deps.clock.advance(60 * 60_000)
  const late = deps.browser()
  const waiting = await late.submit(await deps.start(late), '/email', { email: EMAIL })
  await deps.store.artifacts.revokePerson(ann.id, anAct(deps.clock.now()))
  const ended = await late.submit(waiting, '/code', { code: code() })
  expect(ended.text).toContain('out of date')
  expect(await deps.news()).toMatchObject([
    { outcome: 'code_sent', personId: ann.id },
    { outcome: 'revoked', email: EMAIL, clientId: 'wiki' },
  ])
})

test('a third party that refuses, and one that fails, is noted with its name', async () => {
  const deps = await open()
  const issuer = openIssuer()
  onTestFinished(() => issuer.close())
  await deps.add(issuer.url)
  const comeBack = async () => {
    const browser = deps.browser()
    const left = await browser.submit(await deps.start(browser), '/identity/sso', {})
    await browser.open(issuer.consent(onwardFrom(left)))
  }
  issuer.behaviour = { answer: { error: 'access_denied', code: null } }
  await comeBack()
  issuer.behaviour = { isForged: true }
  await comeBack()
  expect(await deps.news()).toMatchObject([
    { outcome: 'identity_refused', method: 'sso', clientId: 'wiki' },
    { outcome: 'identity_failed', method: 'sso', clientId: 'wiki' },
  ])
})

test('a refresh token that is used again at once, and one that the application revokes, are noted with their person', async () => {
  const deps = await open()
  const browser = deps.browser()
  const asked = await deps.start(browser, { prompt: 'consent', scope: 'openid offline_access' })
  const consent = await deps.byCode(browser, asked, EMAIL)
  const { url } = await browser.submit(consent, '/consent', { decision: 'allow' })
  const post = (path: string, fields: Readonly<Record<string, string>>, client_id = 'wiki') =>
    deps.ask(`http://127.0.0.1:4141/oauth/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ client_id, client_secret: 'secret', ...fields }),
    })
  const tokens = async (fields: Readonly<Record<string, string>>) =>
    (await (await post('token', fields)).json()) as Readonly<Record<string, string>>
  const first = await tokens({
    grant_type: 'authorization_code',
    code: new URL(url).searchParams.get('code') ?? '',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  })
  const { refresh_token = '', access_token = '' } = first
  const second = await tokens({ grant_type: 'refresh_token', refresh_token })
  const of = { personId: (await deps.store.people.findByEmail(EMAIL))?.id, clientId: 'wiki' }
  await deps.news()
  await tokens({ grant_type: 'refresh_token', refresh_token })
  const detail = expect.stringContaining('already used')
  expect(await deps.news()).toMatchObject([{ outcome: 'invalid_grant', detail, ...of }])

  await deps.register('other')
  expect((await post('revoke', { token: access_token }, 'other')).status).toBe(200)
  expect(await deps.news()).toEqual([])
  await post('revoke', { token: second['refresh_token'] ?? '' })
  expect(await deps.news()).toMatchObject([{ outcome: 'token_revoked', ...of }])
  await post('revoke', { token: access_token })
  expect(await deps.news()).toEqual([])
})

test('too many sign-ins from one network, and a person who does not consent, are noted', async () => {
  const deps = await open({
    limits: { codesPerAddress: 5, codesPerNetwork: 200, signinsPerNetwork: 2 },
  })
  const browser = deps.browser()
  const asked = await deps.start(browser, { prompt: 'consent' })
  const consent = await deps.byCode(browser, asked, EMAIL)
  await deps.news()
  await browser.submit(consent, '/consent', { decision: 'deny' })
  expect(await deps.news()).toMatchObject([{ outcome: 'access_denied', email: EMAIL }])
  for (let nth = 0; nth < 2; nth++) await deps.start(deps.browser())
  expect(await deps.news()).toMatchObject([
    { outcome: 'too_many_requests', address: '192.0.2.1', clientId: 'wiki' },
  ])
})

test('signing out is noted; staying signed in is not', async () => {
  const deps = await open()
  const browser = deps.browser()
  await deps.byCode(browser, await deps.start(browser), EMAIL)
  await deps.news()
  const confirm = async (fields: Readonly<Record<string, string>>) => {
    const page = await browser.open('http://127.0.0.1:4141/oauth/logout?client_id=wiki')
    return browser.submit(page, '/logout/confirm', fields)
  }
  await confirm({})
  expect(await deps.news()).toEqual([])
  await confirm({ logout: 'yes' })
  expect(await deps.outcomes()).toEqual(['signed_out'])
})

test('a network that is refused again and again is counted, and fills no disk; others are still noted', async () => {
  const limits = { codesPerAddress: 5, codesPerNetwork: 200, signinsPerNetwork: 3 }
  const deps = await open({ limits })
  for (let n = 0; n < 9; n++) await deps.start(deps.browser(), { client_id: `nobody-${n}` })
  expect(await deps.outcomes()).toHaveLength(3)
  expect(deps.observed).toHaveLength(9)
  deps.clock.advance(10 * 60_000)
  await deps.start(deps.browser(), { client_id: 'nobody' })
  expect(await deps.outcomes()).toHaveLength(1)
})

test('the page for operators has each outcome', () => {
  const [, section = ''] = readPage('docs/sign-in.md').split('## What happened')
  const named = (section.split('\n## ')[0] ?? '').matchAll(/`(\w+)`/g)
  const documented = new Set([...named].map(([, name]) => name))
  expect([...ACCEPTED, ...REFUSED].filter((outcome) => !documented.has(outcome))).toEqual([])
})
