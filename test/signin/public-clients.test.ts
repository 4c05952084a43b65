// Clients without a secret: known by PKCE and their redirect URIs alone, announced once there is one; and revocation of tokens.

import { describe, expect, test } from 'vitest'
import { anAct } from '#test/support/nouns.ts'
import { addressFor, ISSUER, openTestSignin, REDIRECT } from './identities/test-signin.ts'

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const EMAIL = 'ann@example.org'

async function open(redirectUris: readonly string[] = [REDIRECT]) {
  const deps = await openTestSignin()
  const at = deps.clock.now()
  const client = {
    id: 'spa',
    name: 'Pages',
    redirectUris,
    logoutUris: [],
    requiresPkce: true,
    access: 'everybody' as const,
    secretDigest: null,
    isForDevices: false,
    backchannelLogoutUri: null,
    hasIdTokenClaims: true,
    createdAt: at,
    updatedAt: at,
  }
  await deps.store.clients.create(client, anAct())
  const send = (path: string, fields: Readonly<Record<string, string>>, headers = {}) =>
    deps.ask(ISSUER + path, { method: 'POST', headers, body: new URLSearchParams(fields) })
  const token = (fields: Readonly<Record<string, string>>, headers = {}) =>
    send('/oauth/token', { client_id: 'spa', ...fields }, headers)
  const codeFor = async (more: Readonly<Record<string, string>> = {}) => {
    const browser = deps.browser()
    const page = await browser.open(addressFor({ client_id: 'spa', ...more }))
    const asked = await deps.byCode(browser, page, EMAIL)
    // A native app always asks: whoever copies its id is sent back to the same places (RFC 8252 §8.6).
    const back = asked.url.startsWith(ISSUER)
      ? await browser.submit(asked, '/consent', { decision: 'allow' })
      : asked
    return { url: back.url, code: new URL(back.url).searchParams.get('code') ?? '' }
  }
  const redeem = (code: string, more: Readonly<Record<string, string>> = {}, headers = {}) =>
    token({ grant_type: 'authorization_code', code, code_verifier: VERIFIER, ...more }, headers)
  const tokens = async () => {
    const { code } = await codeFor({ prompt: 'consent', scope: 'openid offline_access' })
    return (await (await redeem(code)).json()) as Readonly<Record<string, string>>
  }
  const userinfo = async (accessToken = '') =>
    (
      await deps.ask(`${ISSUER}/oauth/userinfo`, {
        headers: { authorization: `Bearer ${accessToken}` },
      })
    ).status
  return { ...deps, send, token, codeFor, redeem, tokens, userinfo }
}

test('`none` is announced once there is such a client, and confidential ones still need their secret', async () => {
  const methods = async ({ ask }: Pick<Awaited<ReturnType<typeof openTestSignin>>, 'ask'>) => {
    const answer = await ask(`${ISSUER}/.well-known/openid-configuration`)
    const metadata = (await answer.json()) as Readonly<Record<string, unknown>>
    return metadata['token_endpoint_auth_methods_supported']
  }
  const secret = ['client_secret_basic', 'client_secret_post']
  expect(await methods(await openTestSignin())).toEqual(secret)
  const deps = await open()
  expect(await methods(deps)).toEqual([...secret, 'none'])
  for (const fields of [{}, { client_secret: '' }]) {
    const answer = await deps.token({
      client_id: 'wiki',
      grant_type: 'authorization_code',
      code: 'x',
      ...fields,
    })
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'invalid_client' }])
  }
})

describe('a code of a public client', () => {
  test('is redeemed by its verifier, and by nothing less', async () => {
    const deps = await open()
    const { code } = await deps.codeFor()
    const wrong = [
      { code_verifier: 'x'.repeat(43) },
      { client_id: 'wiki', client_secret: 'secret' },
      { client_secret: 'anything' },
    ]
    for (const more of wrong) expect((await deps.redeem(code, more)).status).toBeGreaterThan(399)
    const bare = await deps.token({ grant_type: 'authorization_code', code })
    expect(await bare.json()).toMatchObject({ error: 'invalid_grant' })
    expect((await deps.redeem(code)).status).toBe(200)
    expect((await deps.redeem(code)).status).toBe(400)
  })

  test('is never issued without PKCE', async () => {
    const deps = await open()
    const plain = { code_challenge_method: 'plain' }
    for (const more of [{ code_challenge: '', code_challenge_method: '' }, plain]) {
      const { url } = await deps.browser().open(addressFor({ client_id: 'spa', ...more }))
      expect(new URL(url).searchParams.get('error')).toBe('invalid_request')
    }
  })

  test('is refused at another page; a script reads the answer only from its own origin', async () => {
    const deps = await open()
    const { code } = await deps.codeFor()
    const foreign = await deps.redeem(code, {}, { origin: 'https://evil.example' })
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([
      400,
      null,
    ])
    const own = await deps.redeem(code, {}, { origin: 'https://app.example.org' })
    expect(own.headers.get('access-control-allow-origin')).toBe('https://app.example.org')
    expect(own.status).toBe(200)
    const elsewhere = await deps
      .browser()
      .open(addressFor({ client_id: 'spa', redirect_uri: 'https://app.example.org/other' }))
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.text).toContain('We do not know the way back')
  })
})

test('a native app is sent back to its own scheme, or to any port of the machine; to no other host or path', async () => {
  const deps = await open(['com.example.app:/callback', 'http://127.0.0.1/callback'])
  const { url } = await deps.codeFor({ redirect_uri: 'http://127.0.0.1:51234/callback' })
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:51234\/callback\?code=/)
  const silent = await deps
    .browser()
    .open(
      addressFor({ client_id: 'spa', prompt: 'none', redirect_uri: 'com.example.app:/callback' }),
    )
  expect(new URL(silent.url).searchParams.get('error')).toBe('login_required')
  const own = await deps.codeFor({ redirect_uri: 'com.example.app:/callback' })
  expect(own.url).toMatch(/^com\.example\.app:\/callback\?code=/)
  const sandboxed = await deps.redeem(
    own.code,
    { redirect_uri: 'com.example.app:/callback' },
    { origin: 'null' },
  )
  expect(sandboxed.headers.get('access-control-allow-origin')).toBeNull()
  for (const redirect_uri of [
    'http://127.0.0.1:51234/other',
    'http://evil.example:51234/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1:1@evil.example/callback',
    'https://127.0.0.1/callback',
    'com.example.app:/other',
  ]) {
    const page = await deps.browser().open(addressFor({ client_id: 'spa', redirect_uri }))
    expect([redirect_uri, page.status]).toEqual([redirect_uri, 400])
  }
})

describe('a token that is revoked', () => {
  test('ends with all that was issued with it; an unknown one is no error (RFC 7009)', async () => {
    const deps = await open()
    const { access_token = '', refresh_token = '' } = await deps.tokens()
    expect(await deps.userinfo(access_token)).toBe(200)
    const revoke = (token: string) => deps.send('/oauth/revoke', { client_id: 'spa', token })
    expect((await revoke('unknown')).status).toBe(200)
    expect(await deps.userinfo(access_token)).toBe(200)
    expect((await revoke(refresh_token)).status).toBe(200)
    expect(await deps.userinfo(access_token)).toBe(401)
    const again = await deps.token({ grant_type: 'refresh_token', refresh_token })
    expect(await again.json()).toMatchObject({ error: 'invalid_grant' })
  })

  test('is revoked by its own client alone', async () => {
    const deps = await open()
    const { access_token = '' } = await deps.tokens()
    const other = { client_id: 'wiki', client_secret: 'secret', token: access_token }
    expect((await deps.send('/oauth/revoke', other)).status).toBe(200)
    expect(await deps.userinfo(access_token)).toBe(200)
    const unproved = { client_id: 'wiki', token: access_token }
    expect((await deps.send('/oauth/revoke', unproved)).status).toBe(401)
    expect(await deps.userinfo(access_token)).toBe(200)
  })
})

test('whose person says no in a native app is given nothing', async () => {
  const deps = await open(['org.example.notes:/callback'])
  const browser = deps.browser()
  const native = { client_id: 'spa', redirect_uri: 'org.example.notes:/callback' }
  const asked = await deps.byCode(browser, await deps.start(browser, native), EMAIL)
  const ann = await deps.store.people.findByEmail(EMAIL)
  const grants = () => deps.store.artifacts.ofPerson('Grant', ann?.id ?? 'usr_', deps.clock.now())
  expect(asked.text).toContain('decision')
  expect(await grants()).toEqual([])
  const back = await browser.submit(asked, '/consent', { decision: 'deny' })
  expect(back.url).toMatch(/^org\.example\.notes:\/callback\?.*error=access_denied/)
  expect(await grants()).toEqual([])
})

test('an address that does not fit the others is not used, and keeps nobody from signing out', async () => {
  const deps = await open(['https://notes.example.org/'])
  const amendment = { logoutUris: ['org.example.notes:/out'] }
  await deps.store.clients.amend('spa', amendment, anAct())
  const browser = deps.browser()
  const spa = { client_id: 'spa', redirect_uri: 'https://notes.example.org/' }
  const back = await deps.byCode(browser, await deps.start(browser, spa), EMAIL)
  expect(new URL(back.url).searchParams.get('code')).not.toBeNull()
  const page = await browser.open(`${ISSUER}/oauth/logout?client_id=wiki`)
  const left = await browser.submit(page, '/oauth/logout/confirm', { logout: 'yes' })
  expect(left.text).toContain('signed out')
})

test('any loopback address is one of the web, but those that the protocol knows are of apps', async () => {
  const deps = await open(['http://127.0.0.2/callback'])
  const page = await deps.start(deps.browser(), {
    client_id: 'spa',
    redirect_uri: 'http://127.0.0.2/callback',
  })
  expect(page.text).toContain('name="email"')
})
