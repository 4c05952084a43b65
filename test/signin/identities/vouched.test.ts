// Whose word on an address is the last one.
import { expect, test } from 'vitest'
import { vouchedEmail } from '#signin/register/identity.ts'
import {
  callbackPath,
  isIdentityProviderName,
  issuerProblem,
} from '#signin/register/identity-provider.ts'

const GOOGLE = 'https://accounts.google.com'
const told = (email: string, hostedDomain: string | null = null, isVerified = true) => ({
  email,
  isVerified,
  hostedDomain,
})

test.each([
  ['https://sso.example.org', told('a@example.org'), 'a@example.org'],
  ['https://sso.example.org', told('a@example.com'), null],
  ['https://sso.example.org', told('a@example.org', null, false), null],
  ['https://sso.example.org', null, null],
  // Google verifies any address once; `hd` says that it still runs the domain.
  [GOOGLE, told('a@example.org'), null],
  [GOOGLE, told('a@example.org', 'other.example'), null],
  [GOOGLE, told('a@example.org', 'example.org'), 'a@example.org'],
  [GOOGLE, told('a@gmail.com'), 'a@gmail.com'],
  [GOOGLE, told('a@example.org', 'example.org', false), null],
] as const)('%s says %j: %s', (issuer, said, expected) => {
  const authoritativeFor = ['example.org', 'gmail.com']
  expect(vouchedEmail({ issuer, authoritativeFor }, said)).toBe(expected)
})

test.each([
  'https://accounts.google.com',
  'https://login.example.org/tenant/v2.0',
  'https://tenant.auth0.example/',
  'http://127.0.0.1:8080',
  'http://localhost:8080/realms/x',
  'http://[::1]:8080',
])('%s may be an issuer', (issuer) => {
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
])('%s may not: %s', (issuer, word) => {
  expect(issuerProblem(issuer)).toContain(word)
})

test('a name stands in an address as it is', () => {
  for (const name of ['google', 'a', 'x-1']) expect(isIdentityProviderName(name)).toBe(true)
  for (const name of ['', 'Google', '-a', 'a-', 'a/b', 'a.b', '..', 'x'.repeat(33)]) {
    expect(isIdentityProviderName(name)).toBe(false)
  }
  expect(callbackPath('google')).toBe('/identity/google/callback')
})
