// The certificates that the environment of the process adds.
import { describe, expect, test } from 'vitest'
import { ask, certificate, fixture } from './ask.ts'
import { answer, answerAll, startRaw } from './raw-provider.ts'

describe('TLS', () => {
  const trusted = fixture('localhost-cert.pem')

  test('an untrusted certificate is refused, and not a byte is sent', async () => {
    const seen: (string | null)[] = []
    const provider = await startRaw(
      async ({ request }) => seen.push(await request()),
      certificate('localhost'),
    )
    provider.url.hostname = 'localhost'
    expect(await ask(provider.url)).toBe(
      'its certificate was not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    // Not even where the operator has turned verification off for other programs.
    expect(await ask(provider.url, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toMatch(/not accepted/)
    expect(seen.filter((request) => request !== null)).toEqual([])
  })

  test.each(['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'])(
    '%s adds trusted certificates',
    async (name) => {
      const provider = await startRaw(answerAll(), certificate('localhost'))
      expect(await ask(provider.url, { [name]: trusted })).toBe('200 2')
      provider.url.hostname = 'localhost'
      expect(await ask(provider.url, { [name]: trusted })).toBe('200 2')
    },
  )

  test('a trusted certificate for another host is refused', async () => {
    const provider = await startRaw(answerAll(), certificate('elsewhere'))
    const env = { NODE_EXTRA_CA_CERTS: fixture('elsewhere-cert.pem') }
    for (const name of ['127.0.0.1', 'localhost']) {
      provider.url.hostname = name
      expect(await ask(provider.url, env)).toBe(
        'its certificate was not accepted (ERR_TLS_CERT_ALTNAME_INVALID)',
      )
    }
  })

  test('a provider that does not speak TLS is an error', async () => {
    const provider = await startRaw(({ socket }) =>
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    expect(await ask(new URL(provider.url.href.replace('http:', 'https:')))).toBe(
      'it does not speak TLS',
    )
  })

  test('two megabytes are sent, and an answer in pieces is read', async () => {
    const body = 'x'.repeat(2_000_000)
    const provider = await startRaw(answerAll(answer(body)), certificate('localhost'))
    expect(await ask(provider.url, { NODE_EXTRA_CA_CERTS: trusted })).toBe('200 2000000')
  })
})
