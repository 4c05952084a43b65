// The request schemas against the parser: every request that conforms to the document is accepted, and every field is read.

import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { renderDocument } from '#http/openapi/document.ts'
import { JsonBody } from '#http/read/body.ts'
import { readAmendment, readIssue, readKeyListQuery } from '#http/read/key-request.ts'
import { chatForm, readChatRequest } from '#http/surfaces/chat/read-request.ts'
import { hello } from '#test/support/furnish.ts'
import { holdTo, type OpenApi, resolve } from '#test/support/openapi.ts'
import { FULL } from '#test/support/tier.ts'
import { openKeyCounter } from '../key-counter.ts'

const holder = holdTo(JSON.parse(JSON.stringify(renderDocument('1'))))
const { schemas, parameters } = holder.document.components

/** The path that a refusal names, or null where the body is accepted. */
function readChat(fields: Record<string, unknown>): string | null {
  try {
    readChatRequest(new JsonBody(JSON.stringify(fields)))
    return null
  } catch (thrown) {
    return (thrown as { details: { param?: string } }).details.param ?? ''
  }
}

const url = fc.constantFrom('https://pics.example/a.png', 'data:image/png;base64,AAAA')
const rarely = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, fc.anything())

const part = fc.oneof(
  fc.record({ type: rarely(fc.constant('text')), text: rarely(fc.string()) }, { requiredKeys: [] }),
  fc.record(
    { type: fc.constant('image_url'), image_url: rarely(fc.record({ url }, { requiredKeys: [] })) },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constantFrom('file', 'input_audio', '') }),
)

const fields = {
  role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'king', 5),
  content: fc.oneof(
    fc.string(),
    fc.array(rarely(part), { maxLength: 3 }),
    fc.constantFrom(null, 5),
  ),
}

const message = fc.oneof(fc.record(fields), fc.record(fields, { requiredKeys: [] }))

/** Random requests, and random values of each field of a key. */
const REQUESTS = FULL ? 2_000 : 200
const VALUES = FULL ? 200 : 20

test('messages: the document and the gateway accept the same', () => {
  let taken = 0
  let refused = 0
  fc.assert(
    fc.property(fc.array(rarely(message), { minLength: 1, maxLength: 3 }), (messages) => {
      // As JSON: undefined fields are left out.
      const body = JSON.parse(JSON.stringify(hello({ messages })))
      const isTaken = readChat(body) === null
      if (isTaken) taken++
      else refused++
      expect(holder.fits('ChatRequest', body), JSON.stringify(body)).toBe(isTaken)
    }),
    { numRuns: REQUESTS, examples: [[[]]] },
  )
  expect(Math.min(taken, refused)).toBeGreaterThan(REQUESTS / 20)
})

/** A value that no field of a chat request accepts. */
const ODD = [[null]]

describe('chat', () => {
  test('the gateway validates the fields of its schema, and passes on the other documented ones', () => {
    const told = Object.keys(schemas.ChatRequest.properties)
    const refused = told.filter((name) => readChat(hello({ [name]: ODD })) !== null)
    // Another service tier costs extra, and is refused by itself.
    expect(refused.toSorted()).toEqual([...Object.keys(chatForm.shape), 'service_tier'].toSorted())
    for (const name of refused) {
      expect(holder.fits('ChatRequest', hello({ [name]: ODD })), name).toBe(false)
    }
    expect(told.length - refused.length).toBeGreaterThan(15)
  })

  type Fields = Readonly<Record<string, unknown>>

  test.each<[what: string, good: Fields, bad: Fields]>([
    ['the longest model', { model: 'x'.repeat(256) }, { model: 'x'.repeat(257) }],
    ['the longest user', { user: '☃'.repeat(256) }, { user: 'x'.repeat(257) }],
    ['the most answers', { n: 128 }, { n: 129 }],
    ['the fewest answers', { n: 1 }, { n: 0 }],
    ['the most tokens', { max_tokens: 2 ** 31 - 1 }, { max_tokens: 2 ** 31 }],
    ['half a token', { max_completion_tokens: 1 }, { max_completion_tokens: 1.5 }],
    ['modalities', { modalities: ['image', 'text'] }, { modalities: ['audio'] }],
    ['the most models', { models: Array(8).fill('a/b') }, { models: Array(9).fill('a/b') }],
    ['routing', { provider: { only: ['a'] } }, { provider: { only: 'a' } }],
    [
      'options',
      { stream_options: { include_usage: false } },
      { stream_options: { include_usage: 0 } },
    ],
    ['an image', { image_config: { size: '1K' } }, { image_config: { size: 1 } }],
    ['null', { user: null, n: null, stream: null, models: null }, { model: null }],
  ])('%s has the same bounds in both', (_, good, bad) => {
    expect([readChat(hello(good)) === null, readChat(hello(bad)) === null]).toEqual([true, false])
    const fits = (more: Fields) => holder.fits('ChatRequest', hello(more))
    expect([fits(good), fits(bad)]).toEqual([true, false])
  })
})

describe('a key', () => {
  const money = fc.oneof(
    fc.constantFrom('5', '0', '5.000000', '5.0000001', '-5', '5,0', '', '1e3', '.5'),
    fc.stringMatching(/^\d{1,9}(\.\d{1,8})?$/),
  )
  const count = fc.constantFrom(1, 60, 10_000_000, 10_000_001, 0, -1, 1.5, '5', true)
  const mask = fc.constantFrom('*', 'a/*', 'a/b', 'a/b/c', 'a', '/b', 'a/b*', 'a b/c', '', 5)
  const fields = {
    name: fc.constantFrom(
      'n',
      'x'.repeat(128),
      '☃'.repeat(128),
      'x'.repeat(129),
      '',
      '   ',
      5,
      null,
    ),
    rpm_limit: count,
    rpd_limit: count,
    end_user_rpm: count,
    concurrency_limit: count.filter((value) => value !== 10_000_001),
    max_output_tokens: count.filter((value) => value !== 10_000_001),
    daily_spend_limit_usd: money,
    monthly_spend_limit_usd: money,
    end_user_daily_usd: money,
    allowed_models: fc.oneof(fc.array(mask, { maxLength: 2 }), fc.constant('a/*')),
    expires_at: fc.constantFrom('2099-01-01T00:00:00Z', '2099-01-01T00:00:00.5Z', 'tomorrow', 5),
    disabled: fc.constantFrom(true, false, 'yes', null),
    kind: fc.constantFrom('ordinary', 'provisioning'),
    daily_limit: fc.constant('5'),
  }

  test.each([
    ['KeyIssue', readIssue],
    ['KeyAmendment', readAmendment],
  ] as const)(
    '%s accepts, field by field, exactly what the gateway accepts',
    async (name, read) => {
      const beside = name === 'KeyIssue' ? { name: 'n' } : {}
      let taken = 0
      for (const [field, values] of Object.entries<fc.Arbitrary<unknown>>(fields)) {
        for (const value of [...fc.sample(values, { seed: 7, numRuns: VALUES }), null]) {
          const body = { ...beside, [field]: value }
          const isTaken = await read(body).then(
            () => true,
            () => false,
          )
          if (isTaken) taken++
          // The document states the format of an amount, not its maximum.
          if (isTaken || !isAmount(value)) {
            expect(holder.fits(name, body), JSON.stringify(body)).toBe(isTaken)
          }
        }
      }
      expect(taken).toBeGreaterThan(VALUES)
    },
  )

  const isAmount = (value: unknown): boolean => Number(value) > 9_007_199
})

test('the query of a key list accepts what its parameters declare', () => {
  const { schema } = parameters.limit
  expect(readKeyListQuery({}).limit).toBe(schema.default)
  for (const limit of [schema.minimum, schema.maximum]) {
    expect(readKeyListQuery({ limit: String(limit) }).limit).toBe(limit)
  }
  for (const limit of [schema.minimum - 1, schema.maximum + 1]) {
    expect(() => readKeyListQuery({ limit: String(limit) })).toThrow('limit')
  }
  expect(readKeyListQuery({}).includeRevoked).toBe(parameters.include_revoked.schema.default)
  expect(() => readKeyListQuery({ include_revoked: '1' })).toThrow('include_revoked')
  expect(() => readKeyListQuery({ after: 'gen-1' })).toThrow('after')
})

test('every parameter in the document is read by the API', async () => {
  const { ask, deps, boss } = await openKeyCounter()
  onTestFinished(() => deps.store.close())
  const { bearer } = await deps.issue()
  const told = Object.values<OpenApi>(parameters)
  expect(told.filter((one) => one.in === 'header').map(({ name }) => name)).toEqual([
    'X-Request-Id',
    'Idempotency-Key',
    'X-Gateway-Dry-Run',
    // Of the Responses API: test/acceptance/responses/native.test.ts.
    'anthropic-version',
    'anthropic-beta',
    'X-Gateway-Models',
    'X-Gateway-Allow-Fallbacks',
    'X-Gateway-Usage',
  ])
  const named = await ask('GET', '/v1/key', undefined, { ...bearer, 'X-Request-Id': 'mine' })
  expect(named.headers.get('x-request-id')).toBe('mine')
  const lame = { ...bearer, 'Idempotency-Key': 'é' }
  expect((await ask('POST', '/v1/chat/completions', hello(), lame)).body.error.param).toBe(
    'Idempotency-Key',
  )
  const dry = { ...bearer, 'X-Gateway-Dry-Run': 'true' }
  expect((await ask('POST', '/v1/chat/completions', hello(), dry)).body.object).toBe('quote')

  const count = async (path: string, headers = bearer) =>
    (await ask('GET', path, undefined, headers)).body.data.length
  expect(await count('/v1/models?output_modalities=image')).toBe(1)
  expect(await count('/v1/models?q=demo%20flaky')).toBe(1)
  expect(await count('/v1/keys?limit=1', boss.bearer)).toBe(1)
  expect((await ask('GET', '/v1/generation?id=gen-x', undefined, bearer)).body.error.param).toBe(
    'id',
  )
})

test('the request headers in the document are those that a preflight allows', async () => {
  const { api } = await openKeyCounter()
  const { headers } = await api.app.request('/v1/key', { method: 'OPTIONS' })
  const allowed = headers.get('access-control-allow-headers')?.split(', ')
  for (const { name } of Object.values<OpenApi>(parameters).filter((one) => one.in === 'header')) {
    expect(allowed).toContain(name)
  }
  expect(resolve(holder.document, '/components/securitySchemes/key').scheme).toBe('bearer')
  expect(allowed).toContain('Authorization')
})
