// Redirect addresses, client ids and client secrets.
import { expect, test } from 'vitest'
import {
  isClearText,
  newClientId,
  newClientSecret,
  redirectUriProblem,
} from '#signin/register/client.ts'
import { digestOf, sameDigest } from '#signin/register/digest.ts'

test.each([
  'https://app.example.org/callback',
  'https://app.example.org/callback?x=1',
  'http://localhost:3000/callback',
  'http://grafana.lan/login/generic_oauth',
])('%s is a valid redirect address', (uri) => {
  expect(redirectUriProblem(uri)).toBeNull()
})

test.each([
  ['/callback', 'absolute'],
  ['https:app.example.org/callback', 'absolute'],
  ['http:///app.example.org/callback', 'absolute'],
  ['ftp://app.example.org/', 'neither'],
  ['javascript:alert(1)', 'absolute'],
  ['https://app.example.org/#x', 'fragment'],
  ['https://app.example.org/#', 'fragment'],
  ['https://me:secret@app.example.org/', 'user'],
  ['https://*.example.org/', 'asterisk'],
  ['https://app.example.org/a b', 'characters'],
  ['https://app.example.org\\@evil.example/', 'characters'],
  [`https://app.example.org/${'a'.repeat(2000)}`, 'longer'],
])('%s is invalid: %s', (uri, word) => {
  expect(redirectUriProblem(uri)).toContain(word)
})

test('a plain http address counts as insecure unless it is on this machine', () => {
  expect(isClearText('http://app.example.org/')).toBe(true)
  expect(isClearText('http://127.0.0.1:3000/')).toBe(false)
  expect(isClearText('https://app.example.org/')).toBe(false)
})

test('a client id is derived from the name', () => {
  expect(newClientId('Team Wiki (new)')).toMatch(/^team-wiki-new_[0-9a-z]{6}$/)
  expect(newClientId('Вики')).toMatch(/^client_[0-9a-z]{6}$/)
})

test('only the digest of a secret is stored, and the digest is not accepted as the secret', () => {
  const { secret, digest } = newClientSecret()
  expect(secret).toMatch(/^cs_[\w-]{43}$/)
  expect(sameDigest(digest, digestOf(secret))).toBe(true)
  expect(sameDigest(digest, digestOf(digest))).toBe(false)
  expect(sameDigest(digest, '')).toBe(false)
})
