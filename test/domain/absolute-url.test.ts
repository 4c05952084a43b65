// URLs that an operator writes must have a scheme and a host, because the URL parser repairs too much.
import { expect, test } from 'vitest'
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'

test.each([
  ['https://app.example.org/a?b=c', 'https://app.example.org/a?b=c'],
  ['HTTP://[::1]:3000', 'http://[::1]:3000/'],
  ['https://пример.example/', 'https://xn--e1afmkfd.example/'],
])('%s is parsed', (text, href) => {
  expect(parseAbsoluteUrl(text)?.href).toBe(href)
})

test.each([
  'https:app.example.org/a',
  'https:/app.example.org/a',
  'https:///app.example.org/a',
  'https:\\\\app.example.org/a',
  'https://app.example.org\\a',
  ' https://app.example.org/',
  'https://app.example.org/\n',
  'ht\ntps://app.example.org/',
  'https://app.example.org/a\tb',
  'https://app.example.org/\u0000',
  'mailto:me@example.org',
  '/a',
  'https://',
  '',
])('%j is not', (text) => {
  expect(parseAbsoluteUrl(text)).toBeNull()
})
