// Which hosts are this very machine, however they are written, and which only look like it.
import { expect, test } from 'vitest'
import { isLoopbackHost } from '#domain/loopback.ts'

test.each(['localhost', '127.0.0.1', '127.255.0.9', '::1', '[::1]', '::ffff:127.0.0.1'])(
  '%s is',
  (host) => expect(isLoopbackHost(host)).toBe(true),
)

test.each([
  '127.example.com',
  '127.0.0.1.example.com',
  '127.0.0',
  'localhost.example.com',
  'notlocalhost',
  '::2',
  '128.0.0.1',
  '0.0.0.0',
  '',
])('%j is not', (host) => expect(isLoopbackHost(host)).toBe(false))
