// A provider's errors keep their meaning and message, and lose everything that identifies the operator.
import { expect, test } from 'vitest'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { fromErrorAnswer, fromErrorInside } from '#upstream/openai/from-error.ts'
import { createScrub } from '#upstream/scrub.ts'

const scrub = createScrub('llm.internal.example:8443', 'sesame-open-42')

const read = (status: number, body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { kind, message, details } = fromErrorAnswer(status, text, undefined, scrub)
  return { kind, message, code: details.providerCode }
}

test.each([
  [400, 'rejected'],
  [404, 'rejected'],
  [413, 'rejected'],
  [422, 'rejected'],
  [401, 'unauthorized'],
  [402, 'unauthorized'],
  [403, 'unauthorized'],
  [429, 'overloaded'],
  [529, 'overloaded'],
  [408, 'timeout'],
  [409, 'failed'],
  [418, 'failed'],
  [500, 'failed'],
  [502, 'failed'],
  [503, 'failed'],
  [504, 'failed'],
])('status %i is %s', (status, kind) => {
  const failure = fromErrorAnswer(status, '', 7, scrub)
  expect(failure.kind).toBe(kind)
  expect(failure.details).toMatchObject({ status, retryAfterSeconds: 7 })
  expect(failure.message).toBe(`it answered with status ${status}`)
})

test.each([
  ['enveloped', { error: { message: 'no', type: 't', code: 'c' } }, 'no', 'c'],
  ['a type in place of a code', { error: { message: 'no', type: 't', code: null } }, 'no', 't'],
  [
    'a string',
    { code: 'Not a code but a sentence', error: 'at capacity' },
    'at capacity',
    undefined,
  ],
  ['flat', { code: 'quota', message: 'too many', type: 'x' }, 'too many', 'quota'],
  ['detail as text', { detail: 'Invalid' }, 'Invalid', undefined],
  [
    'detail as a list',
    { detail: [{ type: 'x', loc: ['body', 'messages', 0], msg: 'bad' }, { msg: 'worse' }] },
    'body.messages.0: bad; worse',
    undefined,
  ],
  [
    'a message with details',
    { object: 'error', message: { detail: [{ msg: 'bad' }] } },
    'bad',
    undefined,
  ],
  [
    'another provider inside, as text',
    {
      error: {
        message: 'Provider returned error',
        code: 403,
        metadata: { raw: '{"error":{"code":"unsupported","message":"Not here"}}' },
      },
    },
    'Not here',
    'unsupported',
  ],
  ['plain text', 'upstream connect error', 'upstream connect error', undefined],
  ['JSON in JSON', '"{\\"error\\":{\\"message\\":\\"deep\\"}}"', 'deep', undefined],
  ['a page', '<html><h1>502</h1></html>', 'it answered with status 400', undefined],
  ['nonsense', { error: { message: { a: 1 } } }, 'it answered with status 400', undefined],
  ['broken JSON', '{"error":', '{"error":', undefined],
] as const)('shape: %s', (_, body, message, code) => {
  expect(read(400, body)).toEqual({ kind: 'rejected', message, code })
})

test.each([
  "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
  'Please reduce the length of the messages or completion.',
])('a prompt that is too long is reported as such: %s', (message) => {
  expect(read(400, { error: { message, code: 'invalid_request_error' } }).code).toBe(
    'context_length_exceeded',
  )
  // Waiting may help here, so it is another thing.
  expect(read(429, { error: { message, code: 'rate' } }).code).toBe('rate')
})

const tooLarge = (limit: string, requested: string) =>
  `Request too large for gpt-9 on tokens per min (TPM): Limit ${limit}, Requested ${requested}. The input or output tokens must be reduced.`
const SUSPENDED = 'Your account <ak-1> is suspended due to insufficient balance, please recharge'
const XAI =
  'Your team 16f2 has either used all available credits or reached its monthly spending limit.'
const CHECK_PLAN = 'You exceeded your current quota, please check your plan and billing details.'
const USED = 'Rate limit reached for gpt-9 (TPM): Limit 6000, Used 5982, Requested 709.'

test.each([
  ['request', { message: tooLarge('30000', '37313'), code: 'rate_limit_exceeded', type: 'tokens' }],
  ['request', { message: tooLarge('2,000,000', '2,500,013'), code: 'rate_limit_exceeded' }],
  ['request', { message: 'Limit 100, Used 0, Requested 101' }],
  [undefined, { message: tooLarge('30000', '30000'), code: 'rate_limit_exceeded' }],
  [undefined, { message: USED, code: 'rate_limit_exceeded', type: 'tokens' }],
  [undefined, { message: 'Rate limit exceeded', type: 'rate_limited', code: '1300' }],
  ['account', { message: CHECK_PLAN, code: 'insufficient_quota', type: 'insufficient_quota' }],
  ['account', { message: CHECK_PLAN, code: null, type: 'insufficient_quota' }],
  ['account', { message: 'Your account is not active.', code: 'billing_not_active' }],
  ['account', { message: SUSPENDED, type: 'exceeded_current_quota_error' }],
  ['account', { message: 'Insufficient balance or no resource package.', code: '1113' }],
  ['account', { message: '余额不足或无可用资源包,请充值。', code: '1113' }],
  ['account', { message: XAI }],
  // Alibaba's limit per minute goes by the same code.
  [
    undefined,
    { message: `${CHECK_PLAN} See https://h.example/e#token-limit`, code: 'insufficient_quota' },
  ],
  [undefined, { message: 'Allocated quota exceeded', code: 'insufficient_quota' }],
])('waiting does not help: %s, %j', (permanent, error) => {
  const failure = fromErrorAnswer(429, JSON.stringify({ error }), 9, scrub)
  expect(failure).toMatchObject({ kind: 'overloaded', details: { retryAfterSeconds: 9 } })
  expect(failure.details.permanent).toBe(permanent)
  expect(fromErrorInside({ error: { ...error, status: 429 } }, scrub).details.permanent).toBe(
    permanent,
  )
  // Of other faults nothing is said.
  expect(
    fromErrorAnswer(500, JSON.stringify({ error }), 9, scrub).details.permanent,
  ).toBeUndefined()
})

test.each([
  [400, 'messages[0].content[1].image_url', 'messages[0].content[1].image_url'],
  [422, 'response_format.json_schema', 'response_format.json_schema'],
  [400, 'not a path, but a sentence', undefined],
  [400, 'x'.repeat(129), undefined],
  [400, ['n'], undefined],
  [401, 'model', undefined],
  [500, 'n', undefined],
])('a status %i about the field %j names the field %j', (status, param, told) => {
  const error = { message: 'no', param }
  const { details } = fromErrorAnswer(status, JSON.stringify({ error }), undefined, scrub)
  expect(details.param).toBe(told)
})

test('an operator’s fault does not name a field', () => {
  const error = { message: 'no', param: 'sesame-open-42' }
  const { details } = fromErrorAnswer(400, JSON.stringify({ error }), undefined, scrub)
  expect(details.param).not.toContain('sesame')
})

test('an exhausted account that is reported as the client’s fault is the operator’s', () => {
  const hard = {
    message: 'Billing hard limit has been reached',
    code: 'billing_hard_limit_reached',
  }
  expect(read(400, { error: hard }).kind).toBe('unauthorized')
  expect(read(400, { error: { message: SUSPENDED, code: 'x' } }).kind).toBe('rejected')
})

test.each([
  [{ error: { message: 'x', code: 400 } }, 'rejected', 400],
  [{ error: { message: 'x', status: 429 } }, 'overloaded', 429],
  [{ error: { message: 'x', code: 'tool_use_failed', status_code: 400 } }, 'rejected', 400],
  [{ error: { message: 'x', code: '503' } }, 'failed', 503],
  [{ error: { message: 'x', code: 'content_filter' } }, 'rejected', undefined],
  [{ error: { message: 'x', type: 'invalid_request_error' } }, 'rejected', undefined],
  [{ error: { message: 'x', type: 'rate_limit_error' } }, 'overloaded', undefined],
  [{ error: { message: 'x', type: 'overloaded_error' } }, 'overloaded', undefined],
  [{ error: { message: 'x', type: 'authentication_error' } }, 'unauthorized', undefined],
  [{ error: { message: 'x', type: 'server_error' } }, 'failed', undefined],
  [{ error: 'x' }, 'failed', undefined],
] as const)('inside a 200: %j', (body, kind, status) => {
  const failure = fromErrorInside(body, scrub)
  expect(failure).toMatchObject({ kind, message: 'x' })
  expect(failure.details.status).toBe(status)
})

test.each([
  'Incorrect API key provided: sk-proj-abcdef123456.',
  'Incorrect API key provided: invalid-*****2345.',
  'header was Authorization: Bearer abc.def.ghi',
  'see https://llm.example/v1?key=AIzaSyA1234567890abc for more',
  'key=hunter22, token: hunter22, api_key="hunter22"',
  'your key if-aB3dE6fG7hJ8 is unknown',
  'sesame-open-42 was refused by llm.internal.example:8443',
  'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl',
  'in organization org-eLwBCUaB2ePnSi6dlToWtHZK on org_01k0cr3hcdehfb2mcy22cp8p3y',
])("hides the operator's identity: %s", (message) => {
  const said = read(400, { error: { message } }).message
  expect(said).not.toMatch(
    /sk-proj|\*{3}|abc\.def|https?:|AIza|hunter22|aB3dE6|sesame|internal|eyJ|eLwB|01k0cr/,
  )
  expect(said).toMatch(/removed/)
})

test('messages are shortened, and contain no control characters', () => {
  const said = read(400, {
    error: { message: `a\u0000\u001b[31m\u202eb\n${'x'.repeat(5_000)}` },
  }).message
  expect(said).toHaveLength(1_000)
  expect(said.startsWith('a [31m b x')).toBe(true)
})

test('ordinary messages are unchanged', () => {
  const message = "Unknown parameter: 'quality'. Use 1-3 of them (max_tokens=5)."
  expect(read(400, { error: { message } }).message).toBe(message)
})

test.each([
  [{ 'retry-after': '7' }, 7],
  [{ 'retry-after': '0' }, 1],
  [{ 'retry-after': '1.2' }, 2],
  [{ 'retry-after-ms': '660' }, 1],
  [{ 'retry-after-ms': '2500', 'retry-after': '9' }, 3],
  [{ 'retry-after': '73187' }, 73_187],
  [{ 'retry-after': '99999999' }, 604_800],
  [
    {
      date: 'Sat, 22 Aug 2026 10:00:00 GMT',
      'retry-after': 'Sat, 22 Aug 2026 10:01:30 GMT',
    },
    90,
  ],
  [{ date: 'Sat, 22 Aug 2026 10:00:00 GMT', 'retry-after': 'Sat, 22 Aug 2026 09:00:00 GMT' }, 1],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{}, undefined],
])('retry after %j', (headers, seconds) => {
  expect(readRetryAfter(new Headers(headers as Record<string, string>))).toBe(seconds)
})

test('a key that the provider does not know is the operator’s to mend, also where it answers 400', () => {
  const xai = {
    code: 'invalid-argument',
    error:
      'Incorrect API key provided: xa***ey. You can obtain an API key from https://console.x.ai.',
  }
  expect(read(400, xai).kind).toBe('unauthorized')
  const told = { error: { message: 'the prompt says: invalid api key', code: 'bad_request' } }
  expect(read(400, told).kind).toBe('rejected')
  const argument = { error: { message: 'Invalid api key parameter in tool "search"' } }
  expect(read(400, argument).kind).toBe('rejected')
  expect(read(422, xai).kind).toBe('rejected')
})
