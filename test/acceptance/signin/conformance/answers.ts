// The certification's Basic OP plan, by either response mode: responses. Each title is a module; what is only a warning there is required here.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { REDIRECT } from '../signin-gateway.ts'
import { readIdToken } from './demands.ts'
import {
  callToken,
  codeFrom,
  codeGrant,
  complete,
  errorFrom,
  type Mode,
  openSuite,
  readTokens,
  readUserinfo,
} from './suite.ts'

/** The modules of the Basic OP plan, and of its twin for form_post, about responses. */
export function answerModules(mode: Mode): void {
  let suite: Awaited<ReturnType<typeof openSuite>>

  beforeAll(async () => {
    suite = await openSuite({ mode })
  })
  afterAll(() => suite.close())

  /** The claims of an ID token that belong to no scope (OpenID Connect Core §2). */
  const UNASKED = ['acr', 'amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub']

  const supports = (name: string): readonly unknown[] => [suite.metadata[name]].flat()

  /** Entropy in bits, by the frequency of each character. */
  function entropyOf(text: string): number {
    const shares = [...new Set(text)].map((one) => (text.split(one).length - 1) / text.length)
    return text.length * shares.reduce((sum, share) => sum - share * Math.log2(share), 0)
  }

  test('oidcc-server: a long code, a lifetime, and an ID token with no claim that was not requested', async () => {
    const { code, tokens, claims } = await complete(suite, await suite.visitor().pass())
    expect(code.length * 8).toBeGreaterThanOrEqual(128)
    expect(entropyOf(code)).toBeGreaterThanOrEqual(96)
    expect(tokens.expires_in).toBe(3600)
    expect(tokens.refresh_token).toBeUndefined()
    expect(Object.keys(claims).toSorted()).toEqual(UNASKED)
  })

  test('oidcc-response-type-missing: reported to the client', async () => {
    const sent = await suite.visitor().send({ response_type: null })
    expect(errorFrom(suite, sent)).toBe('invalid_request')
  })

  test('oidcc-idtoken-signature: RS256, by a key with an id', async () => {
    const sent = await suite.visitor().pass()
    const grant = codeGrant(codeFrom(suite, sent), sent)
    const tokens = await readTokens(await callToken(suite, sent.client, grant))
    const asked = { clientId: sent.client.client_id, nonce: sent.fields['nonce'] }
    const { header } = await readIdToken(suite, tokens, asked)
    expect(header).toEqual({ alg: 'RS256', kid: expect.stringMatching(/^sig_/) })
  })

  test('oidcc-idtoken-unsigned: skipped by its own rule, as the metadata do not list `none`', () => {
    expect(supports('id_token_signing_alg_values_supported')).toEqual(['RS256'])
  })

  test.each([
    ['oidcc-userinfo-get', (token: string) => ({ headers: bearer(token) })],
    ['oidcc-userinfo-post-header', (token: string) => ({ method: 'POST', headers: bearer(token) })],
    [
      'oidcc-userinfo-post-body',
      (token: string) => ({ method: 'POST', body: new URLSearchParams({ access_token: token }) }),
    ],
  ] as const)('%s', async (_module, ask) => {
    const { tokens, claims } = await complete(suite, await suite.visitor().pass())
    await readUserinfo(suite, ask(tokens.access_token), claims)
  })

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow: and the ID token has none', async () => {
    const { claims } = await complete(suite, await suite.visitor().pass({ nonce: null }))
    expect(claims).not.toHaveProperty('nonce')
  })

  test('oidcc-scope-profile: in the userinfo, by the right types', async () => {
    const visitor = suite.visitor()
    const { userinfo } = await complete(suite, await visitor.pass({ scope: 'openid profile' }))
    expect(userinfo).toEqual({
      sub: expect.any(String),
      name: visitor.email.split('@')[0],
      preferred_username: visitor.email,
      updated_at: expect.any(Number),
    })
  })

  // The suite warns of an address in the ID token; contract §10 puts it there, for clients that never ask the userinfo.
  test('oidcc-scope-email: in the userinfo, and in the ID token', async () => {
    const visitor = suite.visitor()
    const { userinfo, claims } = await complete(
      suite,
      await visitor.pass({ scope: 'openid email' }),
    )
    const said = { email: visitor.email, email_verified: true }
    expect(userinfo).toEqual({ sub: claims.sub, ...said })
    expect(claims).toMatchObject(said)
  })

  test.each([
    ['oidcc-scope-address', 'address'],
    ['oidcc-scope-phone', 'phone'],
    ['oidcc-scope-all', 'profile email address phone'],
  ])(
    '%s: skipped by its own rule, as a scope is not supported; asked for, it is passed over',
    async (_module, scope) => {
      const missing = scope.split(' ').filter((one) => !supports('scopes_supported').includes(one))
      expect(missing.length).toBeGreaterThan(0)
      const { tokens } = await complete(
        suite,
        await suite.visitor().pass({ scope: `openid ${scope}` }),
      )
      expect(tokens.scope.split(' ')).not.toEqual(expect.arrayContaining(missing))
    },
  )

  test('oidcc-alternate-happy-flow: scopes and parameters in reverse order', async () => {
    const visitor = suite.visitor()
    const { client_id } = suite.client
    const usual = {
      ...(mode === 'form_post' && { response_mode: mode }),
      response_type: 'code',
      nonce: 'n-1',
      state: 's-1',
      scope: 'email openid',
    }
    const address = `${suite.metadata.authorization_endpoint}?${new URLSearchParams({
      ...usual,
      redirect_uri: REDIRECT,
      client_id,
    })}`
    const sent = { client: suite.client, fields: { ...usual, redirect_uri: REDIRECT } }
    const page = await visitor.browser.open(address)
    const { userinfo } = await complete(suite, await visitor.answer({ ...sent, page }))
    expect(userinfo).toMatchObject({ email: visitor.email, email_verified: true })
  })

  test('oidcc-server-client-secret-post: a method of the metadata, taken from the same client', async () => {
    const methods = supports('token_endpoint_auth_methods_supported')
    expect(methods).toEqual(['client_secret_basic', 'client_secret_post'])
    await complete(suite, await suite.visitor().pass(), {}, 'client_secret_post')
  })

  // The suite warns where the name is missing: the metadata say that the parameter is not supported, and it is ignored.
  test('oidcc-claims-essential: no error, and no claim beyond the scopes', async () => {
    expect(suite.metadata['claims_parameter_supported']).toBe(false)
    const wanted = JSON.stringify({ userinfo: { name: { essential: true } } })
    const sent = await suite.visitor().pass({ claims: wanted })
    const { claims, userinfo } = await complete(suite, sent)
    expect(userinfo).toEqual({ sub: claims.sub })
    expect(claims).not.toHaveProperty('name')
  })

  test('oidcc-ensure-request-with-valid-pkce-succeeds: the challenge of RFC 7636, appendix B', async () => {
    expect(supports('code_challenge_methods_supported')).toEqual(['S256'])
    const sent = await suite.visitor().pass({
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    await complete(suite, sent, { code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' })
  })
}
