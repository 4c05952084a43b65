// Standard client libraries sign people in knowing only {auth_url} and what `clients create` printed.
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authorizeUrl, openSigninGateway, REDIRECT, type SigninGateway } from './signin-gateway.ts'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway()
})
afterAll(() => setup.close())

test.each([
  ['client_secret_basic', client.ClientSecretBasic],
  ['client_secret_post', client.ClientSecretPost],
] as const)('openid-client with %s', async (_name, authenticate) => {
  const { client_id, client_secret } = setup.client
  const config = await client.discovery(
    new URL(setup.authUrl),
    client_id,
    undefined,
    authenticate(client_secret),
    { execute: [client.allowInsecureRequests] },
  )
  const verifier = client.randomPKCECodeVerifier()
  const [state, nonce] = [client.randomState(), client.randomNonce()]
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  const browser = setup.browser()
  const email = `${_name}@example.org`
  const back = await setup.signIn(browser, await browser.open(address.href), email)
  const tokens = await client.authorizationCodeGrant(config, new URL(back.url), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  expect(claims).toMatchObject({ iss: setup.authUrl, aud: client_id, email, email_verified: true })
  expect(claims?.sub).toMatch(/^usr_[0-9a-z]{26}$/)
  expect(claims?.auth_time).toBeTypeOf('number')
  const info = await client.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '')
  expect(info).toMatchObject({ email, email_verified: true, preferred_username: email })
})

test.each([
  ['client_secret_basic', oauth.ClientSecretBasic],
  ['client_secret_post', oauth.ClientSecretPost],
] as const)(
  'oauth4webapi with %s, and a refresh token that is rotated; the old one is refused',
  async (method, authenticate) => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(setup.authUrl)
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, insecure),
    )
    const { client_id, client_secret } = setup.client
    const me = { client_id }
    const auth = authenticate(client_secret)
    const verifier = oauth.generateRandomCodeVerifier()
    const address = new URL(as.authorization_endpoint ?? '')
    const state = oauth.generateRandomState()
    address.search = new URLSearchParams({
      client_id,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'openid email offline_access',
      prompt: 'consent',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()
    const browser = setup.browser()
    const email = `offline-${method}@example.org`
    const asked = await setup.signIn(browser, await browser.open(address.href), email)
    expect(asked.text).toContain('Wiki &lt;b&gt;')
    const back = await browser.submit(asked, '/consent', { decision: 'allow' })
    const params = oauth.validateAuthResponse(as, me, new URL(back.url), state)
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      me,
      await oauth.authorizationCodeGrantRequest(as, me, auth, params, REDIRECT, verifier, insecure),
      { requireIdToken: true },
    )
    const { sub = '' } = oauth.getValidatedIdTokenClaims(tokens) ?? {}
    const userinfo = await oauth.userInfoRequest(as, me, tokens.access_token, insecure)
    expect(await oauth.processUserInfoResponse(as, me, sub, userinfo)).toMatchObject({ email })
    const refresh = async (token: string) =>
      oauth.processRefreshTokenResponse(
        as,
        me,
        await oauth.refreshTokenGrantRequest(as, me, auth, token, insecure),
      )
    const first = tokens.refresh_token ?? ''
    const renewed = await refresh(first)
    expect(renewed.refresh_token).not.toBe(first)
    expect(oauth.getValidatedIdTokenClaims(renewed)?.sub).toBe(sub)
    await expect(refresh(first)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect((await refresh(renewed.refresh_token ?? '')).access_token).toBeTruthy()
  },
)

test('openid-client as a command line: no secret, a port of its own on this machine, and a token that it revokes', async () => {
  const { client_id } = setup.register(
    'Notes',
    '--public',
    '--redirect-uri',
    'http://127.0.0.1/callback',
  )
  const insecure = { execute: [client.allowInsecureRequests] }
  const issuer = new URL(setup.authUrl)
  const provider = await client.discovery(issuer, client_id, undefined, client.None(), insecure)
  const verifier = client.randomPKCECodeVerifier()
  const redirect_uri = 'http://127.0.0.1:51234/callback'
  const address = client.buildAuthorizationUrl(provider, {
    redirect_uri,
    scope: 'openid email',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const browser = setup.browser()
  const page = await browser.open(address.href)
  const asked = await setup.signIn(browser, page, 'writer@example.org')
  const back = await browser.submit(asked, '/consent', { decision: 'allow' })
  const tokens = await client.authorizationCodeGrant(provider, new URL(back.url), {
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const { sub = '' } = tokens.claims() ?? {}
  const person = await client.fetchUserInfo(provider, tokens.access_token, sub)
  expect(person.email).toBe('writer@example.org')
  await client.tokenRevocation(provider, tokens.access_token)
  await expect(client.fetchUserInfo(provider, tokens.access_token, sub)).rejects.toThrow()
})

test('signing in makes the runtime warn of nothing', async () => {
  const browser = setup.browser()
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id))
  await setup.signIn(browser, start, 'quiet@example.org')
  expect(browser.cookies.has('session.sig')).toBe(true)
  expect(setup.appliance.said()).not.toMatch(/DEP\d{4}|warning/i)
})

test('a refusal on the consent page is reported to the client', async () => {
  const browser = setup.browser()
  const { client_id } = setup.client
  const start = await browser.open(authorizeUrl(setup.authUrl, client_id, { prompt: 'consent' }))
  const asked = await setup.signIn(browser, start, 'careful@example.org')
  const back = new URL((await browser.submit(asked, '/consent', { decision: 'deny' })).url)
  expect(Object.fromEntries(back.searchParams)).toMatchObject({
    error: 'access_denied',
    state: 'state-of-the-session',
    iss: setup.authUrl,
  })
})
