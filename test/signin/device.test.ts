// The device flow (RFC 8628): a device shows a code, its person types and confirms it elsewhere, and signs in there.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { digestOf } from '#signin/register/digest.ts'
import type { Page } from '#test/acceptance/signin/browser.ts'
import { anAct } from '#test/support/nouns.ts'
import {
  ISSUER,
  openTestSignin,
  REDIRECT,
  type TestSigninOptions,
} from './identities/test-signin.ts'

const EMAIL = 'ann@example.org'
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const TV = { secretDigest: null, isForDevices: true, redirectUris: [] }

interface Started {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
}

async function open(options: TestSigninOptions = {}) {
  const deps = await openTestSignin(options)
  await deps.register('tv', { name: 'Television', ...TV })
  const send = (path: string, fields: Readonly<Record<string, string>>) =>
    deps.ask(ISSUER + path, { method: 'POST', body: new URLSearchParams(fields) })
  const start = async (more: Readonly<Record<string, string>> = {}) => {
    const answer = await send('/oauth/device', {
      client_id: 'tv',
      scope: 'openid email',
      ...more,
    })
    expect(answer.status).toBe(200)
    return (await answer.json()) as Started
  }
  const poll = async (device_code: string, more: Readonly<Record<string, string>> = {}) => {
    const answer = await send('/oauth/token', {
      client_id: 'tv',
      grant_type: GRANT,
      device_code,
      ...more,
    })
    return (await answer.json()) as Readonly<Record<string, string>>
  }
  const browser = deps.browser()
  const type = async (user_code: string): Promise<Page> =>
    browser.submit(await browser.open(`${ISSUER}/device`), '/device', { user_code })
  /** From the typed code to the question whether the application may know who they are. */
  const signIn = async ({ user_code }: Started, email = EMAIL): Promise<Page> => {
    const page = await browser.submit(await type(user_code), '/device', { confirm: 'yes' })
    return page.text.includes('name="email"') ? deps.byCode(browser, page, email) : page
  }
  const allow = (page: Page) => browser.submit(page, '/consent', { decision: 'allow' })
  const outcomes = async () =>
    (await deps.store.events.list({ limit: 50 })).map(({ outcome }) => outcome).reverse()
  return {
    ...deps,
    send,
    start,
    poll,
    browser,
    stranger: deps.browser,
    type,
    signIn,
    allow,
    outcomes,
  }
}

test('a person types the code, confirms it, signs in and agrees; then the device has their tokens, once', async () => {
  const deps = await open()
  const started = await deps.start({ scope: 'openid email offline_access' })
  expect(started).toMatchObject({
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${ISSUER}/device`,
    verification_uri_complete: `${ISSUER}/device?user_code=${started.user_code}`,
    expires_in: 600,
  })
  expect(await deps.poll(started.device_code)).toMatchObject({ error: 'authorization_pending' })
  const asked = await deps.type(started.user_code.toLowerCase().replace('-', ' '))
  for (const words of ['Television', started.user_code, '192.0.2.1']) {
    expect(asked.text).toContain(words)
  }
  const agreed = await deps.signIn(started)
  expect(agreed.text).toContain('Let <bdi>Television</bdi> know who you are?')
  expect(await deps.poll(started.device_code)).toMatchObject({ error: 'authorization_pending' })
  const done = await deps.allow(agreed)
  expect(done.text).toContain('The device is signed in')
  const tokens = await deps.poll(started.device_code)
  expect(Object.keys(tokens).toSorted()).toEqual(
    ['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'].toSorted(),
  )
  const { access_token = '', refresh_token = '' } = tokens
  const userinfo = await deps.ask(`${ISSUER}/oauth/userinfo`, {
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(await userinfo.json()).toMatchObject({ email: EMAIL })
  const renewed = await deps.send('/oauth/token', {
    client_id: 'tv',
    grant_type: 'refresh_token',
    refresh_token,
  })
  expect(renewed.status).toBe(200)
  expect(await deps.poll(started.device_code)).toMatchObject({ error: 'invalid_grant' })
  expect(await deps.outcomes()).toEqual([
    'device_started',
    'code_sent',
    'signed_up',
    'signed_in',
    'invalid_grant',
  ])
  expect(deps.faults).toEqual([])
})

test('it is announced once there is such an application, and is for no other', async () => {
  const deps = await openTestSignin()
  const metadata = async () => {
    const answer = await deps.ask(`${ISSUER}/.well-known/openid-configuration`)
    return (await answer.json()) as Readonly<Record<string, unknown>>
  }
  const bare = await metadata()
  expect(bare).not.toHaveProperty('device_authorization_endpoint')
  expect(bare['grant_types_supported']).toEqual(['authorization_code', 'refresh_token'])
  await deps.register('spa', { secretDigest: null })
  expect(await metadata()).not.toHaveProperty('device_authorization_endpoint')
  await deps.register('tv', TV)
  expect(await metadata()).toMatchObject({
    device_authorization_endpoint: `${ISSUER}/oauth/device`,
    grant_types_supported: ['authorization_code', 'refresh_token', GRANT],
  })
  for (const [client_id, status] of [
    ['spa', 400],
    ['wiki', 401],
    ['nobody', 401],
  ] as const) {
    const body = new URLSearchParams({ client_id, scope: 'openid' })
    const answer = await deps.ask(`${ISSUER}/oauth/device`, { method: 'POST', body })
    expect([client_id, answer.status]).toEqual([client_id, status])
  }
})

describe('a code', () => {
  test('that is unknown, used, denied or expired is refused in the same words, and noted', async () => {
    const deps = await open()
    const refused = async (code: string): Promise<void> => {
      const page = await deps.type(code)
      expect([code, page.status]).toEqual([code, 400])
      expect(page.text).toContain('This code is not known, was used already, or has expired')
    }
    await refused('BBBB-BBBB')
    await refused('%_—é')
    const used = await deps.start()
    await deps.allow(await deps.signIn(used))
    await refused(used.user_code)
    const denied = await deps.start()
    await deps.browser.submit(await deps.type(denied.user_code), '/device', { abort: 'yes' })
    await refused(denied.user_code)
    const old = await deps.start()
    // The protocol library reads the system time itself.
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    deps.clock.advance(620_000)
    vi.setSystemTime(deps.clock.now())
    await refused(old.user_code)
    expect(await deps.poll(old.device_code)).toMatchObject({ error: 'expired_token' })
    const noted = await deps.outcomes()
    expect(noted.filter((outcome) => outcome === 'wrong_device_code')).toHaveLength(5)
  })

  test('is confirmed in one browser only, by a form of our own', async () => {
    const deps = await open()
    const started = await deps.start()
    const asked = await deps.type(started.user_code)
    const other = deps.stranger()
    expect((await other.submit(asked, '/device', { confirm: 'yes' })).status).toBe(400)
    const forged = await deps.ask(`${ISSUER}/device`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ user_code: started.user_code, confirm: 'yes' }),
    })
    expect(forged.status).toBe(403)
    // A second tab has replaced the form's secret.
    await deps.type(started.user_code)
    const stale = await deps.browser.submit(asked, '/device', { confirm: 'yes' })
    expect([stale.status, stale.text.includes('This page is out of date')]).toEqual([400, true])
    expect((await deps.signIn(started)).text).toContain('name="decision"')
    expect((await deps.type(started.user_code)).status).toBe(400)
  })

  test('is tried so often from one network, and asked for so often', async () => {
    const deps = await open({
      limits: { codesPerAddress: 5, codesPerNetwork: 5, signinsPerNetwork: 6 },
    })
    await deps.start()
    // Each is a form, a redirect to its page, and the page before it.
    expect((await deps.type('BBBB-BBBB')).status).toBe(400)
    const page = await deps.browser.open(`${ISSUER}/device`)
    await deps.browser.open(`${ISSUER}/device?user_code=BBBB-BBBC`)
    const spent = await deps.browser.submit(page, '/device', { user_code: 'BBBB-BBBD' })
    expect([spent.status, spent.headers.get('retry-after')]).toEqual([429, '600'])
    const asked = await deps.send('/oauth/device', { client_id: 'tv', scope: 'openid' })
    expect([asked.status, asked.headers.get('retry-after')]).toEqual([429, '600'])
    expect(await asked.json()).toMatchObject({ error: 'temporarily_unavailable' })
    const refused = (await deps.outcomes()).filter((outcome) => outcome === 'too_many_requests')
    expect(refused).toHaveLength(2)
  })

  test('is stored as a digest, which lets nobody in', async () => {
    const deps = await open()
    const started = await deps.start()
    const agreed = await deps.signIn(started)
    const stored = await deps.store.artifacts.find('DeviceCode', digestOf(started.device_code))
    expect(stored?.payload).not.toContain(started.user_code.replace('-', ''))
    await deps.allow(agreed)
    const { digest = '' } = stored ?? {}
    for (const forged of [`~${digest}`, digest, started.user_code]) {
      expect(await deps.poll(forged)).toMatchObject({ error: 'invalid_grant' })
    }
    const { access_token = '' } = await deps.poll(started.device_code)
    const bearer = { authorization: `Bearer ~${digestOf(access_token)}` }
    const userinfo = await deps.ask(`${ISSUER}/oauth/userinfo`, { headers: bearer })
    expect(userinfo.status).toBe(401)
  })

  test('of one application is no code of another', async () => {
    const deps = await open()
    await deps.register('radio', TV)
    const started = await deps.start()
    await deps.allow(await deps.signIn(started))
    const stolen = await deps.poll(started.device_code, { client_id: 'radio' })
    expect(stolen).toMatchObject({ error: 'invalid_grant' })
    expect(await deps.poll(started.device_code)).toHaveProperty('id_token')
  })
})

describe('the device is told, and stays out', () => {
  test.each([
    [
      'at the code',
      async (deps: Awaited<ReturnType<typeof open>>, started: Started) =>
        deps.browser.submit(await deps.type(started.user_code), '/device', { abort: 'yes' }),
    ],
    [
      'at the question',
      async (deps: Awaited<ReturnType<typeof open>>, started: Started) =>
        deps.browser.submit(await deps.signIn(started), '/consent', { decision: 'deny' }),
    ],
  ] as const)('when its person says no %s', async (_where, deny) => {
    const deps = await open()
    const started = await deps.start()
    const page = await deny(deps, started)
    expect(page.text).toContain('The device is not signed in')
    expect(await deps.poll(started.device_code)).toMatchObject({ error: 'access_denied' })
    const noted = await deps.outcomes()
    expect(noted.filter((outcome) => outcome === 'access_denied')).toHaveLength(1)
    expect(noted).not.toContain('signed_in')
  })

  test('when its person may not enter it; somebody else may sign in instead', async () => {
    const deps = await open()
    await deps.store.clients.amend('tv', { access: ['bob@example.org'] }, anAct())
    const started = await deps.start()
    const refused = await deps.signIn(started)
    expect([refused.status, refused.text.includes('You cannot open')]).toEqual([403, true])
    const again = await deps.browser.submit(refused, '/restart', {})
    expect(again.text).toContain('name="email"')
    const between = await deps.byCode(deps.browser, again, 'bob@example.org')
    // The library ends the session of the one before by a form of its own.
    const agreed = await deps.browser.submit(between, '/logout/confirm', {})
    expect(agreed.text).toContain('bob@example.org')
    await deps.allow(agreed)
    expect(await deps.poll(started.device_code)).toHaveProperty('id_token')
    const other = await deps.start()
    await deps.store.clients.amend('tv', { access: ['carl@example.org'] }, anAct())
    const left = await deps.browser.submit(await deps.signIn(other), '/leave', {})
    expect(left.text).toContain('The device is not signed in')
    expect(await deps.poll(other.device_code)).toMatchObject({ error: 'access_denied' })
  })

  test('when its person is disabled, or the application is not for devices any more', async () => {
    const deps = await open()
    const started = await deps.start()
    await deps.allow(await deps.signIn(started))
    const ann = await deps.store.people.findByEmail(EMAIL)
    if (ann === undefined) throw new Error('she signed in')
    await deps.store.people.setDisabled(ann.id, true, anAct())
    expect(await deps.poll(started.device_code)).toMatchObject({ error: 'invalid_grant' })
    await deps.store.clients.amend('tv', { isForDevices: false }, anAct())
    expect((await deps.poll(started.device_code))['error']).toBe('invalid_request')
  })
})

test.each([
  ['an application of its own', TV],
  ['one that people also sign in to here', { ...TV, redirectUris: [REDIRECT] }],
])('who is signed in is named before, and agrees each time, for %s', async (_what, client) => {
  const deps = await open()
  await deps.store.clients.amend('tv', client, anAct())
  await deps.allow(await deps.signIn(await deps.start()))
  const started = await deps.start()
  const asked = await deps.browser.open(started.verification_uri_complete)
  expect(asked.text).toContain(EMAIL)
  const agreed = await deps.browser.submit(asked, '/device', { confirm: 'yes' })
  expect(agreed.text).toContain('name="decision"')
  await deps.allow(agreed)
  expect(await deps.poll(started.device_code)).toHaveProperty('id_token')
})

test('openid must be asked for, because the device is to know who signs in', async () => {
  const deps = await open()
  const answer = await deps.send('/oauth/device', { client_id: 'tv', scope: 'email' })
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }])
})
