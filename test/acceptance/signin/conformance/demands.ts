/** What the certification suite requires of metadata, keys and ID tokens, before any module and after every sign-in. */
import type { webcrypto } from 'node:crypto'
import { expect } from 'vitest'
import type { SigninGateway } from '../signin-gateway.ts'

export interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly userinfo_endpoint: string
  readonly jwks_uri: string
  readonly [more: string]: unknown
}

export interface Tokens {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly id_token: string
  readonly scope: string
  readonly refresh_token?: string
}

export interface Claims {
  readonly sub: string
  readonly iss: string
  readonly aud: string | readonly string[]
  readonly exp: number
  readonly iat: number
  readonly auth_time: number
  readonly [more: string]: unknown
}

/** The provider under test. */
export interface Provider {
  readonly setup: SigninGateway
  readonly metadata: Metadata
}

interface PublicKey extends webcrypto.JsonWebKey {
  readonly kid: string
}

const YEAR_SECONDS = 31_557_600

/** The clock difference that the suite tolerates. */
const SKEW_SECONDS = 300

export async function demandMetadata({ authUrl, ask }: SigninGateway): Promise<Metadata> {
  const response = await ask(`${authUrl}/.well-known/openid-configuration`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const metadata = (await response.json()) as Metadata
  expect(metadata.issuer).toBe(authUrl)
  return metadata
}

/** Each key has its own id, is public, and is encoded as RFC 7518 requires. */
export async function demandPublicKeys(
  { ask }: SigninGateway,
  { jwks_uri }: Metadata,
): Promise<readonly PublicKey[]> {
  const response = await ask(jwks_uri)
  expect(response.status).toBe(200)
  const { keys } = (await response.json()) as { readonly keys: readonly PublicKey[] }
  expect(keys.length).toBeGreaterThan(0)
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length)
  for (const key of keys) {
    expect(key).toEqual({
      kty: 'RSA',
      kid: expect.stringMatching(/./),
      use: 'sig',
      alg: 'RS256',
      n: expect.stringMatching(/^[\w-]{342}$/),
      e: 'AQAB',
    })
  }
  return keys
}

/** An ID token with valid signature, issuer, audience, times, nonce and hash. */
export async function readIdToken(
  { setup, metadata }: Provider,
  { id_token, access_token }: Pick<Tokens, 'id_token' | 'access_token'>,
  { clientId, nonce }: { readonly clientId: string; readonly nonce: string | undefined },
): Promise<{ readonly header: Readonly<Record<string, unknown>>; readonly claims: Claims }> {
  const [head = '', body = '', signature = ''] = id_token.split('.')
  const header = read<{ readonly alg: string; readonly kid: string }>(head)
  const claims = read<Claims>(body)
  const keys = await demandPublicKeys(setup, metadata)
  const key = keys.find(({ kid }) => kid === header.kid)
  expect(header.alg).toBe('RS256')
  expect(await isSignedBy(key, `${head}.${body}`, signature)).toBe(true)

  const now = Date.now() / 1000
  expect(claims.iss).toBe(metadata.issuer)
  expect([claims.aud].flat()).toEqual([clientId])
  expect(claims.exp).toBeGreaterThan(now)
  expect(claims.exp).toBeLessThan(now + 50 * YEAR_SECONDS)
  expect(Math.abs(claims.iat - now)).toBeLessThan(SKEW_SECONDS)
  expect(claims.auth_time).toBeLessThanOrEqual(now)
  expect(claims.auth_time).toBeGreaterThan(now - YEAR_SECONDS)
  expect(claims['nonce']).toBe(nonce)
  expect(claims['acr']).not.toBe('')
  expect(claims['at_hash'] ?? hashOf(access_token)).toBe(hashOf(access_token))
  expect(claims.sub).toMatch(/^[\x21-\x7e]{1,255}$/)
  return { header, claims }
}

const read = <T>(part: string): T => JSON.parse(Buffer.from(part, 'base64url').toString()) as T

const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

async function isSignedBy(
  jwk: PublicKey | undefined,
  text: string,
  signature: string,
): Promise<boolean> {
  if (jwk === undefined) return false
  const key = await crypto.subtle.importKey('jwk', jwk, RS256, false, ['verify'])
  const bytes = Buffer.from(signature, 'base64url')
  return await crypto.subtle.verify(RS256, key, bytes, Buffer.from(text))
}

/** OpenID Connect Core §3.1.3.6: the left half of the digest. */
const hashOf = (token: string): string =>
  new Bun.CryptoHasher('sha256').update(token).digest().subarray(0, 16).toString('base64url')
