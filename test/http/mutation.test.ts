// Malformed requests: none causes an internal error, and none leaves a hold open.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '#test/support/any-text.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'
import { FULL } from '#test/support/tier.ts'

const REQUESTS = FULL ? 1_000 : 200
const SEED = 20_260_822

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    -1,
    0,
    1e308,
    2 ** 53,
    '',
    'x'.repeat(300),
    [],
    {},
    [null],
    { url: 'data:' },
    true,
  ),
)

const field = fc.constantFrom(
  'model',
  'messages',
  'modalities',
  'stream',
  'stream_options',
  'user',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'image_config',
  'allow_fallbacks',
  'models',
  'provider',
  'tools',
  '__proto__',
  'constructor',
  'toString',
  'logprobs',
)

const part = fc.oneof(
  fc.record({
    type: fc.constantFrom('text', 'image_url', 'file', '__proto__'),
    text: anything,
    image_url: anything,
  }),
  fc.constant({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
  anything,
)
const message = fc.record({
  role: fc.oneof(fc.constantFrom('user', 'assistant', 'tool', 'system'), anything),
  content: fc.oneof(fc.string(), fc.array(part, { maxLength: 20 }), anything),
})

const body = fc.oneof(
  fc
    .tuple(
      fc.dictionary(field, anything, { maxKeys: 4 }),
      fc.constantFrom('echo', 'image', 'lorem', 'flaky'),
    )
    .map(([more, model]) => JSON.stringify({ ...hello({ model: `demo/${model}` }), ...more })),
  fc.array(message, { maxLength: 5 }).map((messages) => JSON.stringify({ ...hello(), messages })),
  fc.tuple(fc.nat(200), anyText({ maxLength: 5 })).map(([at, junk]) => {
    const good = JSON.stringify(hello({ stream: true }))
    return good.slice(0, at) + junk + good.slice(at + junk.length)
  }),
  anyText(),
)

const header = fc.constantFrom(
  'X-Request-Id',
  'Content-Type',
  'Content-Encoding',
  'Authorization',
  'Accept',
  'Cookie',
  'Origin',
)
const headers = fc.dictionary(header, fc.string({ unit: 'grapheme-ascii' }), { maxKeys: 2 })
const path = fc.constantFrom(
  '/v1/chat/completions',
  '/api/v1/chat/completions',
  '/v1/models',
  '/v1/models/%zz',
  '/v1/models/a%2f..%2fb',
  '/v1/key?x=%',
  '//v1/key',
  '/v1/chat/completions/',
)
const method = fc.constantFrom(
  'POST',
  'POST',
  'POST',
  'POST',
  'GET',
  'PUT',
  'DELETE',
  'OPTIONS',
  'HEAD',
)

/** The demo models fail on purpose when `user` says so. */
const isOurs = (code: string): boolean =>
  !code.startsWith('upstream_') && code !== 'no_image_returned'

test('random bodies, headers, paths and methods', async () => {
  const deps = await furnish()
  const { bearer, key } = await deps.issue({ rpm: 1_000_000, concurrency: 50 })
  const { app } = openApi(deps)
  const seen = new Map<number, number>()

  await fc.assert(
    fc.asyncProperty(body, headers, path, method, async (text, more, where, how) => {
      const response = await app.request(`http://gateway.test${where}`, {
        method: how,
        headers: { 'Content-Type': 'application/json', ...bearer, ...more },
        ...(how === 'GET' || how === 'HEAD' ? {} : { body: text }),
      })
      const said = await response.text()
      seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
      expect(response.headers.get('x-request-id')).toMatch(/^[\w.:-]{1,128}$/)
      if (response.status < 400 || how === 'HEAD') return
      const { error } = JSON.parse(said) as {
        error: { code: string; param: unknown; type: string }
      }
      expect(error).toMatchObject({ code: expect.any(String), type: expect.any(String) })
      if (response.status >= 500) expect(isOurs(error.code)).toBe(false)
    }),
    { numRuns: REQUESTS, seed: SEED },
  )

  // Proof that the requests vary enough to reach different outcomes.
  for (const status of [200, 400, 401, 404, 405])
    expect(seen.get(status)).toBeGreaterThan(REQUESTS / 200)
  expect((await deps.store.health({ checkIntegrity: false })).openHolds).toBe(0)
  expect((await deps.store.admissions.usage(key.id, deps.clock.now())).requestsInProgress).toBe(0)
  expect((await deps.store.audit()).findings).toEqual([])
})
