// For which addresses an identity provider is authoritative, and which issuers and names are valid.
import { expect, test } from 'vitest'
import { vouchedEmail } from '#signin/register/identity.ts'
import {
  callbackPath,
  isIdentityProviderName,
  issuerProblem,
} from '#signin/register/identity-provider.ts'

const GOOGLE = 'https://accounts.google.com'
const reported = (email: string, hostedDomain: string | null = null, isVerified = true) => ({
  email,
  isVerified,
  hostedDomain,
})

test.each([
  ['https://sso.example.org', reported('a@example.org'), 'a@example.org'],
  ['https://sso.example.org', reported('a@example.com'), null],
  ['https://sso.example.org', reported('a@example.org', null, false), null],
  ['https://sso.example.org', null, null],
  // Google verifies an address once; `hd` states that Google still manages its domain.
  [GOOGLE, reported('a@example.org'), null],
  [GOOGLE, reported('a@example.org', 'other.example'), null],
  [GOOGLE, reported('a@example.org', 'example.org'), 'a@example.org'],
  [GOOGLE, reported('a@gmail.com'), 'a@gmail.com'],
  [GOOGLE, reported('a@example.org', 'example.org', false), null],
] as const)('%s says %j: %s', (issuer, reported, expected) => {
  const authoritativeFor = ['example.org', 'gmail.com']
  expect(vouchedEmail({ issuer, authoritativeFor }, reported)).toBe(expected)
})

test.each([
  'https://accounts.google.com',
  'https://login.example.org/tenant/v2.0',
  'https://tenant.auth0.example/',
  'http://127.0.0.1:8080',
  'http://localhost:8080/realms/x',
  'http://[::1]:8080',
])('%s is a valid issuer', (issuer) => {
  expect(issuerProblem(issuer)).toBeNull()
})

test.each([
  ['accounts.google.com', 'absolute'],
  ['http://sso.example.org', 'not https'],
  ['http://127.0.0.1.evil.example', 'not https'],
  ['https://a:b@sso.example.org', 'user'],
  ['https://sso.example.org?x=1', 'query'],
  ['https://sso.example.org#x', 'fragment'],
  ['https://sso.example.org/a b', 'characters'],
  [`https://sso.example.org/${'a'.repeat(500)}`, 'longer'],
])('%s is invalid: %s', (issuer, word) => {
  expect(issuerProblem(issuer)).toContain(word)
})

test('the name of an identity provider needs no escaping in a URL', () => {
  for (const name of ['google', 'a', 'x-1']) expect(isIdentityProviderName(name)).toBe(true)
  for (const name of ['', 'Google', '-a', 'a-', 'a/b', 'a.b', '..', 'x'.repeat(33)]) {
    expect(isIdentityProviderName(name)).toBe(false)
  }
  expect(callbackPath('google')).toBe('/identity/google/callback')
})
