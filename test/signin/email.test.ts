// E-mail addresses as people type them: which are valid, and which two are the same.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { emailKey, readEmail } from '#signin/register/email.ts'
import { anyText } from '#test/support/any-text.ts'

test.each([
  [' Ada@Example.ORG ', 'Ada@example.org'],
  ['a+b@example.org', 'a+b@example.org'],
  ['a.b@sub.example.org', 'a.b@sub.example.org'],
  ['иван@пример.рф', 'иван@xn--e1afmkfd.xn--p1ai'],
  ['root@localhost', 'root@localhost'],
])('%j is normalized to %s', (typed, read) => {
  expect(readEmail(typed)).toBe(read)
})

test.each([
  '',
  '@',
  'a@',
  '@example.org',
  'a@@example.org',
  'a b@example.org',
  '"a b"@example.org',
  '.a@example.org',
  'a..b@example.org',
  'a@example..org',
  'a@-example.org',
  'a@127.0.0.1',
  'a@[127.0.0.1]',
  'a@example.org/path',
  'a@example.org:25',
  'a@example.org\n',
  'a\0@example.org',
  'a@example.org\r\nBcc: b@example.org',
  `${'a'.repeat(65)}@example.org`,
  `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}.org`,
])('%j is not an address', (typed) => {
  expect(readEmail(typed)).toBeUndefined()
})

test('normalizing is idempotent, and its result never contains a line break', () => {
  void fc.assert(
    fc.property(fc.oneof(fc.emailAddress(), anyText()), (typed) => {
      const email = readEmail(typed)
      if (email === undefined) return
      expect(readEmail(email)).toBe(email)
      expect(email).not.toMatch(/[\p{Cc}\s]/u)
    }),
  )
})

test('case does not distinguish addresses; look-alike characters and tags do', () => {
  expect(emailKey('ADA@example.org')).toBe(emailKey('ada@example.org'))
  expect(emailKey('аda@example.org')).not.toBe(emailKey('ada@example.org'))
  expect(emailKey('ada+x@example.org')).not.toBe(emailKey('ada@example.org'))
})
