// What the environment of the process decides: trusted certificates, and proxies.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isProxied } from '#upstream/proxy.ts'
import { answer, answerAll, type Certificate, startRaw } from './raw-provider.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const certificate = (name: string): Certificate => ({
  key: readFileSync(here(`fixtures/${name}-key.pem`), 'utf8'),
  cert: readFileSync(here(`fixtures/${name}-cert.pem`), 'utf8'),
})

/** What a separate process prints about one request, with only these variables added to its environment. */
async function ask(url: URL, env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn([process.execPath, here('children/ask.ts'), url.href], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  // An idle connection does not keep the process alive.
  expect(await child.exited).toBe(0)
  return text.trim()
}

describe('TLS', () => {
  const trusted = here('fixtures/localhost-cert.pem')

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
    const env = { NODE_EXTRA_CA_CERTS: here('fixtures/elsewhere-cert.pem') }
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

describe('proxies', () => {
  const proxy = 'http://proxy.example:3128'

  test.each([
    ['http://a.example/', { HTTP_PROXY: proxy }, true],
    ['http://a.example/', { http_proxy: proxy }, true],
    ['http://a.example/', { ALL_PROXY: proxy }, true],
    ['https://a.example/', { all_proxy: proxy }, true],
    ['https://a.example/', { HTTPS_PROXY: proxy }, true],
    ['https://a.example/', { HTTP_PROXY: proxy }, false],
    ['http://a.example/', { HTTPS_PROXY: proxy }, false],
    ['http://a.example/', { HTTP_PROXY: '' }, false],
    ['http://a.example/', {}, false],
    ['http://a.example/', { HTTP_PROXY: proxy, NO_PROXY: '*' }, false],
    ['http://a.example/', { HTTP_PROXY: proxy, NO_PROXY: 'b.example, A.EXAMPLE' }, false],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: '.example' }, false],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: '*.example' }, false],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'xample' }, true],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'b.a.example' }, true],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: ',' }, true],
    ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'a.example:80' }, false],
    ['https://a.example/', { HTTPS_PROXY: proxy, no_proxy: 'a.example:443' }, false],
    ['http://a.example:81/', { HTTP_PROXY: proxy, no_proxy: 'a.example:80' }, true],
    ['http://a.example:81/', { HTTP_PROXY: proxy, no_proxy: 'a.example' }, false],
    ['http://127.0.0.1:81/', { HTTP_PROXY: proxy, no_proxy: '127.0.0.1' }, false],
    ['http://[::1]:81/', { HTTP_PROXY: proxy, no_proxy: '[::1]' }, false],
  ])('%s with %o: %s', (url, env, isSo) => {
    expect(isProxied(new URL(url), env)).toBe(isSo)
  })

  test('a request goes through the configured proxy, and directly where NO_PROXY says so', async () => {
    const seen: (string | null)[] = []
    const middle = await startRaw(async ({ request, socket }) => {
      seen.push(await request())
      socket.end(answer('proxied', 'connection: close\r\n'))
    })
    const provider = await startRaw(answerAll(answer('hi')))
    const env = { HTTP_PROXY: middle.url.origin }
    expect(await ask(provider.url, env)).toBe('200 7')
    expect(seen[0]).toMatch(`POST ${provider.url.href} HTTP/1.1`)
    expect(await ask(provider.url, { ...env, NO_PROXY: '127.0.0.1' })).toBe('200 2')
    expect(seen).toHaveLength(1)
  })
})
