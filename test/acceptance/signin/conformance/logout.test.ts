// The certification's plans for RP-initiated and back-channel logout. Each title is a module.
import { createLocalJWKSet, generateKeyPair, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { openReceiver, type Receiver } from '#test/support/receiver.ts'
import type { Page } from '../browser.ts'
import type { RegisteredClient } from '../signin-gateway.ts'
import { codeFrom, complete, errorFrom, openSuite, type Visitor } from './suite.ts'

let suite: Awaited<ReturnType<typeof openSuite>>
let application: Receiver
let client: RegisteredClient

const AFTER = 'https://app.example.org/after-logout'
const PATIENCE_MS = 60_000

beforeAll(async () => {
  application = openReceiver(() => new Response())
  suite = await openSuite({ env: { GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' } })
  client = suite.setup.register(
    'Suite with logout',
    '--no-require-pkce',
    ...['--logout-uri', AFTER],
    ...['--backchannel-logout-uri', `${application.url}/backchannel`],
  )
})
afterAll(async () => {
  await suite?.close()
  await application?.close()
})

/** A person who has signed in to the client, and what it received. */
async function member() {
  const visitor = suite.visitor()
  const { tokens, claims } = await complete(suite, await visitor.pass({}, client))
  return { visitor, claims, hint: tokens.id_token }
}

const endpoint = (): string => String(suite.metadata['end_session_endpoint'])

const ask = (
  { browser }: Visitor,
  fields: Readonly<Record<string, string | undefined>>,
): Promise<Page> => {
  const query = Object.entries(fields).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  return browser.open(`${endpoint()}?${new URLSearchParams(query)}`)
}

/** Asks, and says yes. */
async function leave(
  visitor: Visitor,
  fields: Readonly<Record<string, string | undefined>>,
): Promise<Page> {
  const page = await ask(visitor, fields)
  expect(page.text).toContain('Sign out?')
  return visitor.browser.submit(page, '/logout/confirm', { logout: 'yes' })
}

/** Whether a silent request still finds somebody signed in. */
async function isSignedIn(visitor: Visitor): Promise<boolean> {
  const sent = await visitor.send({ prompt: 'none' }, client)
  if (new URL(sent.page.url).searchParams.has('code')) return codeFrom(suite, sent) !== ''
  expect(errorFrom(suite, sent)).toBe('login_required')
  return false
}

/** A page of the provider, which leads nowhere else. */
function demandPage({ url, headers, text }: Page, words: string): void {
  expect([new URL(url).origin, headers.get('location')]).toEqual([suite.metadata.issuer, null])
  expect(text).toContain(words)
  expect(text).not.toContain(AFTER)
}

test('oidcc-rp-initiated-logout-discovery-endpoint-verification: an https address', () => {
  expect(new URL(endpoint()).protocol).toBe('https:')
})

test('oidcc-rp-initiated-logout: back to the application with its state, and signed out', async () => {
  const { visitor, hint } = await member()
  expect(await isSignedIn(visitor)).toBe(true)
  const more = { id_token_hint: hint, post_logout_redirect_uri: AFTER, state: 'x'.repeat(128) }
  const { url } = await leave(visitor, more)
  expect(url).toBe(`${AFTER}?state=${more.state}`)
  expect(await isSignedIn(visitor)).toBe(false)
})

test.each([
  ['oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', `${AFTER}/unregistered`],
  ['oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri', `${AFTER}?added=1`],
])('%s: an error page, and still signed in', async (_module, uri) => {
  const { visitor, hint } = await member()
  const page = await ask(visitor, {
    id_token_hint: hint,
    post_logout_redirect_uri: uri,
    state: 's',
  })
  expect(page.status).toBe(400)
  demandPage(page, 'post_logout_redirect_uri')
  expect(await isSignedIn(visitor)).toBe(true)
})

/** The same token of another person, under the signature of the first. */
function modified(token: string): string {
  const [head, body = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const other = JSON.stringify({ ...claims, sub: 'usr_somebodyelse' })
  return [head, Buffer.from(other).toString('base64url'), signature].join('.')
}

async function forged(): Promise<string> {
  const { privateKey } = await generateKeyPair('RS256')
  return new SignJWT({ nonce: 'n' })
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuer(suite.metadata.issuer)
    .setAudience(client.client_id)
    .setSubject('usr_somebody')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
}

test.each([
  ['oidcc-rp-initiated-logout-modified-id-token-hint', async (hint: string) => modified(hint)],
  ['oidcc-rp-initiated-logout-bad-id-token-hint', () => forged()],
])('%s: an error page, and still signed in', async (_module, change) => {
  const { visitor, hint } = await member()
  const id_token_hint = await change(hint)
  const page = await ask(visitor, { id_token_hint, post_logout_redirect_uri: AFTER, state: 's' })
  expect(page.status).toBe(400)
  demandPage(page, 'id_token_hint')
  expect(await isSignedIn(visitor)).toBe(true)
})

test.each([
  ['oidcc-rp-initiated-logout-no-id-token-hint', { post_logout_redirect_uri: AFTER, state: 's' }],
  ['oidcc-rp-initiated-logout-no-params', {}],
  ['oidcc-rp-initiated-logout-only-state', { state: 's' }],
])('%s: signed out after a question, and sent nowhere', async (_module, fields) => {
  const { visitor } = await member()
  demandPage(await leave(visitor, fields), 'You are signed out')
  expect(await isSignedIn(visitor)).toBe(false)
})

test('oidcc-rp-initiated-logout-no-post-logout-redirect-uri: signed out, and sent nowhere', async () => {
  const { visitor, hint } = await member()
  const left = await leave(visitor, { id_token_hint: hint, state: 's' })
  demandPage(left, 'You are signed out')
  expect(await isSignedIn(visitor)).toBe(false)
})

test('oidcc-rp-initiated-logout-no-state: back to the application without one', async () => {
  const { visitor, hint } = await member()
  const { url } = await leave(visitor, { id_token_hint: hint, post_logout_redirect_uri: AFTER })
  expect(url).toBe(AFTER)
  expect(await isSignedIn(visitor)).toBe(false)
})

test('oidcc-backchannel-logout-discovery-endpoint-verification: it is supported, with sessions', () => {
  expect(suite.metadata).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
})

test(
  'oidcc-backchannel-rp-initiated-logout: the application is told by a valid token, too',
  async () => {
    const { visitor, hint, claims } = await member()
    expect(claims['sid']).toEqual(expect.any(String))
    application.received.length = 0
    const more = { id_token_hint: hint, post_logout_redirect_uri: AFTER, state: 's' }
    expect((await leave(visitor, more)).url).toBe(`${AFTER}?state=s`)
    expect(await isSignedIn(visitor)).toBe(false)
    const answer = await suite.setup.ask(suite.metadata.jwks_uri)
    const keys = createLocalJWKSet((await answer.json()) as JSONWebKeySet)
    // Those whom the other modules signed out are told of too.
    const mine = async () => {
      for (const { path, body } of application.received) {
        const token = new URLSearchParams(body).get('logout_token') ?? ''
        const { payload } = await jwtVerify(token, keys, {
          typ: 'logout+jwt',
          issuer: suite.metadata.issuer,
          audience: client.client_id,
          algorithms: ['RS256'],
          requiredClaims: ['iat', 'exp', 'jti', 'sub', 'sid', 'events'],
        })
        if (payload['sid'] === claims['sid']) return { path, payload }
      }
      return undefined
    }
    await until(async () => (await mine()) !== undefined, 'it was told', PATIENCE_MS)
    const { path, payload } = (await mine()) ?? {}
    expect(path).toBe('/backchannel')
    expect(payload).toMatchObject({
      sub: claims.sub,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    expect(payload).not.toHaveProperty('nonce')
  },
  PATIENCE_MS,
)
