// Where people may be sent back to, and what a client is called and given.
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
])('%s is an address to come back to', (uri) => {
  expect(redirectUriProblem(uri)).toBeNull()
})

test.each([
  ['/callback', 'absolute'],
  ['ftp://app.example.org/', 'https'],
  ['javascript:alert(1)', 'https'],
  ['https://app.example.org/#x', 'fragment'],
  ['https://app.example.org/#', 'fragment'],
  ['https://me:secret@app.example.org/', 'user'],
  ['https://*.example.org/', 'asterisk'],
  ['https://app.example.org/a b', 'characters'],
  ['https://app.example.org\\@evil.example/', 'characters'],
  [`https://app.example.org/${'a'.repeat(2000)}`, 'longer'],
])('%s is none: %s', (uri, word) => {
  expect(redirectUriProblem(uri)).toContain(word)
})

test('clear text is what leaves this machine without TLS', () => {
  expect(isClearText('http://app.example.org/')).toBe(true)
  expect(isClearText('http://127.0.0.1:3000/')).toBe(false)
  expect(isClearText('https://app.example.org/')).toBe(false)
})

test('an id says the name as far as it can', () => {
  expect(newClientId('Team Wiki (new)')).toMatch(/^team-wiki-new_[0-9a-z]{6}$/)
  expect(newClientId('Вики')).toMatch(/^client_[0-9a-z]{6}$/)
})

test('of a secret only its digest is kept, and a digest does not stand for the secret', () => {
  const { secret, digest } = newClientSecret()
  expect(secret).toMatch(/^cs_[\w-]{43}$/)
  expect(sameDigest(digest, digestOf(secret))).toBe(true)
  expect(sameDigest(digest, digestOf(digest))).toBe(false)
  expect(sameDigest(digest, '')).toBe(false)
})
