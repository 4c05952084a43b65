// The certification's Basic OP plan, by either response mode: request parameters. Each title is a module; what is only a warning there is required here.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { REDIRECT } from '../signin-gateway.ts'
import { complete, errorFrom, fieldsOf, type Mode, openSuite, type Visitor } from './suite.ts'

/** The modules of the Basic OP plan, and of its twin for form_post, about request parameters. */
export function questionModules(mode: Mode): void {
  let suite: Awaited<ReturnType<typeof openSuite>>

  beforeAll(async () => {
    suite = await openSuite({ mode })
  })
  afterAll(() => suite.close())

  /** A person who has signed in once, and the claims that the client received. */
  async function regular(more: Readonly<Record<string, string>> = {}) {
    const visitor = suite.visitor()
    return { visitor, first: await complete(suite, await visitor.pass(more)) }
  }

  const isAskedToSignIn = ({ page }: Awaited<ReturnType<Visitor['send']>>): boolean =>
    page.url.startsWith(suite.metadata.issuer) && page.text.includes('name="email"')

  test.each([
    ['oidcc-display-page', { display: 'page' }],
    ['oidcc-display-popup', { display: 'popup' }],
    ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
    ['oidcc-ui-locales', { ui_locales: 'se' }],
    ['oidcc-claims-locales', { claims_locales: 'se' }],
    ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
  ])('%s: no error', async (_module, more) => {
    await complete(suite, await suite.visitor().pass(more))
  })

  test("oidcc-login-hint: no error, and the page's address field is filled in", async () => {
    const visitor = suite.visitor()
    const asked = await visitor.send({ login_hint: visitor.email })
    expect(asked.page.text).toContain(`value="${visitor.email}"`)
    await complete(suite, await visitor.answer(asked))
  })

  test('oidcc-prompt-login: asks for sign-in again, and the ID token says when', async () => {
    const { visitor, first } = await regular()
    const isLater = (): boolean => Math.floor(Date.now() / 1000) > first.claims.auth_time
    await until(isLater, 'another second has begun')
    const asked = await visitor.send({ prompt: 'login' })
    expect(isAskedToSignIn(asked)).toBe(true)
    const { claims } = await complete(suite, await visitor.answer(asked))
    expect(claims.sub).toBe(first.claims.sub)
    expect(claims.auth_time).toBeGreaterThan(first.claims.auth_time)
  })

  test('oidcc-prompt-none-not-logged-in: with a state of 128 characters', async () => {
    const sent = await suite.visitor().send({ prompt: 'none', state: 'x'.repeat(128) })
    expect(errorFrom(suite, sent)).toBe('login_required')
  })

  test('oidcc-prompt-none-logged-in: no page is shown, and it is the same sign-in', async () => {
    const { visitor, first } = await regular()
    const { claims } = await complete(suite, await visitor.send({ prompt: 'none' }))
    expect([claims.sub, claims.auth_time]).toEqual([first.claims.sub, first.claims.auth_time])
  })

  test('oidcc-max-age-10000: no page is shown, and it is the same sign-in', async () => {
    const { visitor, first } = await regular({ max_age: '15000' })
    const { claims } = await complete(suite, await visitor.send({ max_age: '10000' }))
    expect([claims.sub, claims.auth_time]).toEqual([first.claims.sub, first.claims.auth_time])
  })

  test('oidcc-id-token-hint: with prompt=none, the same person', async () => {
    const { visitor, first } = await regular()
    const hinted = { prompt: 'none', id_token_hint: first.tokens.id_token }
    const { claims } = await complete(suite, await visitor.send(hinted))
    expect(claims.sub).toBe(first.claims.sub)
  })

  test('oidcc-ensure-registered-redirect-uri: a page of the provider, and no redirect', async () => {
    const { page } = await suite.visitor().send({ redirect_uri: `${REDIRECT}/unregistered` })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    expect(page.url.startsWith(suite.metadata.authorization_endpoint)).toBe(true)
    expect(page.text).toContain('redirect_uri')
  })

  test('oidcc-ensure-post-request-succeeds: the request as a form', async () => {
    const visitor = suite.visitor()
    const fields = fieldsOf(suite.client, {}, mode)
    const page = await visitor.browser.open(suite.metadata.authorization_endpoint, {
      method: 'POST',
      body: new URLSearchParams(fields),
    })
    await complete(suite, await visitor.answer({ client: suite.client, fields, page }))
  })

  /** An unsigned request object with these fields, and the parameters that are still required beside it. */
  function inObject(more: Readonly<Record<string, string>> = {}) {
    const { client_id, client_secret } = suite.client
    const fields = fieldsOf({ client_id, client_secret }, {}, mode)
    const parts = [{ alg: 'none' }, { ...fields, iss: client_id, aud: suite.metadata.issuer }]
    const encoded = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    const beside = { state: null, nonce: null, response_mode: null, ...more }
    return { object: `${encoded.join('.')}.`, beside }
  }

  test('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported: rejected', async () => {
    expect(suite.metadata).not.toHaveProperty('request_object_signing_alg_values_supported')
    const { object, beside } = inObject()
    const sent = await suite.visitor().send({ ...beside, request: object })
    expect(errorFrom(suite, sent)).toBe('request_not_supported')
  })

  test('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported: rejected, and never fetched', async () => {
    let asked = 0
    const { object, beside } = inObject()
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => {
        asked++
        return new Response(object, { headers: { 'content-type': 'application/jwt' } })
      },
    })
    try {
      // What the object says is known to whoever fetches it, so the mode stands beside it.
      const { response_mode = null } = fieldsOf(suite.client, {}, mode)
      const request_uri = `${server.url}object`
      const sent = await suite.visitor().send({ ...beside, response_mode, request_uri })
      expect(errorFrom(suite, sent)).toBe('request_uri_not_supported')
      expect(asked).toBe(0)
    } finally {
      await server.stop(true)
    }
  })

  test('oidcc-ensure-request-object-with-redirect-uri: an unregistered address beside the object is not ignored', async () => {
    const { object, beside } = inObject({ redirect_uri: `${REDIRECT}/unregistered` })
    const { page } = await suite.visitor().send({ ...beside, request: object })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    expect(page.url.startsWith(suite.metadata.authorization_endpoint)).toBe(true)
  })
}
