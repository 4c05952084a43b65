// A request goes to the operator's URL and the configured model, and nowhere else.
import { expect, test } from 'vitest'
import { toEndpoint } from '#upstream/gemini/endpoint.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collectFolded, provider, startProvider } from '../fixtures.ts'

const BASE = 'https://gemini.example/v1beta'
const address = (baseUrl: string, model: string, stream = false): string =>
  toEndpoint(provider(baseUrl, 'google'), null).address(
    model,
    stream ? 'streamGenerateContent' : 'generateContent',
  )

test.each([
  [BASE, 'gemini-2.5-flash', `${BASE}/models/gemini-2.5-flash:generateContent`],
  [`${BASE}/`, 'models/gemini-x', `${BASE}/models/gemini-x:generateContent`],
  [BASE, 'tunedModels/my-own', `${BASE}/tunedModels/my-own:generateContent`],
  [BASE, 'a/b?c#d:e', `${BASE}/models/a/b%3Fc%23d%3Ae:generateContent`],
  [
    'http://127.0.0.1:9/r/gemini/plain-text',
    'm',
    'http://127.0.0.1:9/r/gemini/plain-text/models/m:generateContent',
  ],
  [`${BASE}?x=1#y`, 'm', `${BASE}/models/m:generateContent?x=1`],
])('%s and %s make one URL', (baseUrl, model, url) => {
  expect(address(baseUrl, model)).toBe(url)
})

test('a stream uses another method name, and keeps the query of the base URL', () => {
  expect(address(`${BASE}?x=1`, 'm', true)).toBe(
    `${BASE}/models/m:streamGenerateContent?x=1&alt=sse`,
  )
})

test.each(['../../x', 'models/../x', '.', '', 'models/'])(
  'an invalid model name is refused: %s',
  (model) => {
    expect(() => address(BASE, model)).toThrow('is no path')
  },
)

test.each(['file:///etc/passwd', 'data:text/plain,x', 'gemini.example', ''])(
  'no address: %s',
  (baseUrl) => {
    expect(() => toEndpoint(provider(baseUrl, 'google'), null)).toThrow('not an http address')
  },
)

test('T24: the key is sent as a header, and without a key there is no header', () => {
  expect(toEndpoint(provider(BASE, 'google'), 'k').auth).toEqual({ 'x-goog-api-key': 'k' })
  expect(toEndpoint(provider(BASE, 'google'), null).auth).toEqual({})
  expect(address(BASE, 'm', true)).not.toMatch(/key/)
})

test('models and methods have URLs of their own', async () => {
  const gemini = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}')
  })
  const upstream = openUpstream(provider(gemini.url, 'google'), 'k')
  for (const upstreamName of ['m', 'n', 'm']) {
    const answer = await collectFolded(upstream.ask(call({ upstreamName })))
    // A whole body is an answer, also where it does not say why it ended.
    expect(answer).toMatchObject({ text: 'a', finish: [{ native: 'STOP' }], failure: null })
  }
  expect(gemini.seen.map(({ path }) => path)).toEqual([
    '/models/m:generateContent',
    '/models/n:generateContent',
    '/models/m:generateContent',
  ])
  await gemini.stop()
})
