// What the sign-in provider refuses, by a page or a redirect (contract §10); and what it stores of people.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase, until } from '#test/support/appliance.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  REDIRECT,
  redeem,
  type SigninGateway,
} from './signin-gateway.ts'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

let people = 0
const newEmail = (): string => `person-${++people}@example.org`

/** A new code for a new person. */
async function freshCode(more: Readonly<Record<string, string | null>> = {}, email = newEmail()) {
  const browser = setup.browser()
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id, more))
  return codeOf(await setup.signIn(browser, start, email))
}

describe('at the authorization endpoint', () => {
  const ask = async (more: Readonly<Record<string, string | null>>) =>
    setup.browser().open(authorizeUrl(setup.authUrl, setup.client.client_id, more))

  test.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['an address that is not registered', { redirect_uri: 'https://evil.example/callback' }],
    ['an address that only begins with a registered one', { redirect_uri: `${REDIRECT}/more` }],
    ['a registered address with a query added', { redirect_uri: `${REDIRECT}?x=1` }],
    ['no address', { redirect_uri: null }],
  ])('%s gets a page and no redirect', async (_what, more) => {
    const page = await ask(more)
    expect(page.status).toBe(400)
    expect(page.headers.get('location')).toBeNull()
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.url).toContain(setup.authUrl)
  })

  test.each([
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge without its method', { code_challenge_method: null }, 'invalid_request'],
    ['no response type', { response_type: null }, 'invalid_request'],
    ['an implicit flow', { response_type: 'id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['a request object', { request: 'eyJ' }, 'request_not_supported'],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ])('%s is reported to the client with state and iss', async (_what, more, error) => {
    const { url } = await ask(more)
    expect(url.startsWith(REDIRECT)).toBe(true)
    // The error of an implicit flow is in the fragment, as its response would be.
    const { search, hash } = new URL(url)
    expect(Object.fromEntries(new URLSearchParams(search || hash.slice(1)))).toMatchObject({
      error,
      state: 'state-of-the-session',
      iss: setup.authUrl,
    })
  })

  test.each(['fragment', 'nobody-knows-it'])(
    'the response mode %s is refused, and its error is not in a fragment',
    async (response_mode) => {
      for (const prompt of ['login', 'none']) {
        const { search, hash } = new URL((await ask({ response_mode, prompt })).url)
        expect([new URLSearchParams(search).get('error'), hash]).toEqual([
          'unsupported_response_mode',
          '',
        ])
      }
    },
  )

  test('an address that the operator removed gets no code, not even for a person who was signing in meanwhile', async () => {
    const kept = 'https://app.example.org/kept'
    const two = setup.register('Two', '--redirect-uri', REDIRECT, '--redirect-uri', kept)
    const browser = setup.browser()
    const page = await browser.open(authorizeUrl(setup.authUrl, two.client_id))
    setup.cli.json(['clients', 'edit', two.client_id, '--redirect-uri', kept, '--yes'])
    const refused = await setup.signIn(browser, page, 'meanwhile@example.org')
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null])
    expect(refused.url.startsWith(`${setup.authUrl}/oauth/authorize/`)).toBe(true)
  })

  test('a client that is exempted from PKCE may omit it', async () => {
    const { client_id } = setup.register('Old', '--no-require-pkce')
    const page = await setup.browser().open(
      authorizeUrl(setup.authUrl, client_id, {
        code_challenge: null,
        code_challenge_method: null,
      }),
    )
    expect(page.status).toBe(200)
    expect(page.text).toContain('name="email"')
  })
})

test('scopes may be separated by an encoded plus, and the request may be posted', async () => {
  const browser = setup.browser()
  const address = new URL(authorizeUrl(setup.authUrl, setup.client.client_id))
  address.searchParams.set('scope', 'openid+email+profile')
  expect(address.search).toContain('openid%2Bemail')
  const page = await browser.open(`${setup.authUrl}/oauth/authorize`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: address.search.slice(1),
  })
  const back = await setup.signIn(browser, page, newEmail())
  const answer = await redeem(setup.authUrl, setup.client, codeOf(back))
  expect(await answer.json()).toMatchObject({ scope: 'openid email profile' })
})

const CLAIMS = [
  'sub',
  'auth_time',
  'acr',
  'amr',
  'email',
  'email_verified',
  'name',
  'preferred_username',
  'picture',
  'locale',
  'updated_at',
  'groups',
  'iss',
]

test('the metadata announce what the contract promises, and no more', async () => {
  const { authUrl } = setup
  const [metadata, same] = await Promise.all(
    ['openid-configuration', 'oauth-authorization-server'].map(
      async (name) =>
        (await (await fetch(`${authUrl}/.well-known/${name}`)).json()) as {
          readonly claims_supported: readonly string[]
        },
    ),
  )
  expect(same).toEqual(metadata)
  const { claims_supported: claims, ...rest } = metadata ?? { claims_supported: [] }
  expect(claims.toSorted()).toEqual([...CLAIMS, 'sid'].sort())
  expect(rest).toEqual({
    issuer: authUrl,
    authorization_endpoint: `${authUrl}/oauth/authorize`,
    token_endpoint: `${authUrl}/oauth/token`,
    userinfo_endpoint: `${authUrl}/oauth/userinfo`,
    jwks_uri: `${authUrl}/oauth/jwks`,
    end_session_endpoint: `${authUrl}/oauth/logout`,
    revocation_endpoint: `${authUrl}/oauth/revoke`,
    acr_values_supported: ['1'],
    response_types_supported: ['code'],
    response_modes_supported: ['form_post', 'query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'profile', 'groups', 'offline_access'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    claim_types_supported: ['normal'],
    claims_parameter_supported: false,
    request_uri_parameter_supported: false,
    ui_locales_supported: ['en', 'ru'],
  })
})

test('an ID token has the claims that the metadata announce, but for those that the person does not have, and of a scope that was not asked for', async () => {
  const answer = await redeem(setup.authUrl, setup.client, await freshCode())
  const { id_token = '' } = (await answer.json()) as { readonly id_token?: string }
  const claims = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())
  const protocol = ['aud', 'exp', 'iat']
  expect([...Object.keys(claims), 'picture', 'locale', 'groups'].sort()).toEqual(
    [...CLAIMS, ...protocol].sort(),
  )
})

describe('people', () => {
  test('T12: a disabled person is signed out everywhere at once, and cannot sign in', async () => {
    const email = newEmail()
    const browser = setup.browser()
    const offline = { scope: 'openid email offline_access', prompt: 'consent' }
    const asking = authorizeUrl(setup.authUrl, setup.client.client_id, offline)
    const consent = await setup.signIn(browser, await browser.open(asking), email)
    const back = await browser.submit(consent, '/consent', { decision: 'allow' })
    const tokens = (await (await redeem(setup.authUrl, setup.client, codeOf(back))).json()) as {
      readonly access_token: string
      readonly refresh_token: string
    }
    const address = authorizeUrl(setup.authUrl, setup.client.client_id)
    const unused = codeOf(await browser.open(address))
    expect(unused).not.toBe('')

    setup.cli.json(['users', 'disable', email, '--yes'])
    const userinfo = await fetch(`${setup.authUrl}/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const said = expect.any(String)
    expect(userinfo.status).toBe(401)
    expect(await userinfo.json()).toEqual({ error: 'invalid_token', error_description: said })
    const refreshed = await fetch(`${setup.authUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
        ...setup.client,
      }),
    })
    for (const answer of [await redeem(setup.authUrl, setup.client, unused), refreshed]) {
      expect(answer.status).toBe(400)
      expect(await answer.json()).toEqual({ error: 'invalid_grant', error_description: said })
    }
    const silent = await browser.open(
      authorizeUrl(setup.authUrl, setup.client.client_id, { prompt: 'none' }),
    )
    expect(new URL(silent.url).searchParams.get('error')).toBe('login_required')
    const asked = await browser.open(address)
    expect(asked.text).toContain('name="email"')
    const refused = await setup.signIn(browser, asked, email)
    expect(refused.status).toBe(403)
    expect(refused.url.startsWith(setup.authUrl)).toBe(true)
    expect(refused.text).not.toContain('code=')

    setup.cli.json(['users', 'enable', email])
    const fresh = setup.browser()
    const welcome = await setup.signIn(fresh, await fresh.open(address), email)
    expect(welcome.url.startsWith(REDIRECT)).toBe(true)
  })

  test('a removed person who returns is a new person', async () => {
    const email = newEmail()
    const subjectOf = async () => {
      const answer = await redeem(setup.authUrl, setup.client, await freshCode({}, email))
      const { id_token = '' } = (await answer.json()) as { readonly id_token?: string }
      const body = Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()
      return (JSON.parse(body) as { readonly sub: string }).sub
    }
    const first = await subjectOf()
    expect(await subjectOf()).toBe(first)
    setup.cli.json(['users', 'remove', email, '--yes'])
    expect(await subjectOf()).not.toBe(first)
  })

  test('`users sessions revoke` ends the sessions of a browser', async () => {
    const email = newEmail()
    const browser = setup.browser()
    const address = authorizeUrl(setup.authUrl, setup.client.client_id)
    await setup.signIn(browser, await browser.open(address), email)
    expect((await browser.open(address)).url.startsWith(REDIRECT)).toBe(true)
    const revoked = setup.cli.json<{ ended_sessions: number }>([
      'users',
      'sessions',
      'revoke',
      email,
      '--yes',
    ])
    expect(revoked.ended_sessions).toBe(1)
    expect((await browser.open(address)).text).toContain('name="email"')
  })
})

test('nothing stored can be used: the database contains no code, token, cookie or secret in the clear', async () => {
  const browser = setup.browser()
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id))
  const email = newEmail()
  const asked = await browser.submit(start, '/email', { email })
  const digits = await setup.codeFor(email)
  const code = codeOf(await browser.submit(asked, '/code', { code: digits }))
  const answer = (await (await redeem(setup.authUrl, setup.client, code)).json()) as Record<
    string,
    unknown
  >
  await until(async () => readDatabase(setup.cli, 'SELECT 1 FROM artifacts').length > 0, 'rows')
  const rows = ['artifacts', 'clients', 'mail_codes', 'signing_keys', 'signin_secrets']
    .flatMap((table) => readDatabase(setup.cli, `SELECT * FROM ${table}`))
    .map((row) => JSON.stringify(row))
    .join('\n')
  const secrets = [
    code,
    digits,
    String(answer['access_token']),
    setup.client.client_secret,
    browser.cookies.get('session') ?? 'none',
  ]
  for (const secret of secrets) expect(rows).not.toContain(secret)
  expect(rows).not.toContain('"d":')
})
