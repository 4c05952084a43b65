// Google's errors keep their meaning, message and retry delay, and the client's fault is distinguished from the operator's.
import { expect, test } from 'vitest'
import { fromErrorAnswer } from '#upstream/gemini/from-error.ts'
import { createScrub } from '#upstream/scrub.ts'

const scrub = createScrub('generativelanguage.googleapis.com', 'AIzaSyA1234567890abcdef')

const read = (status: number, body: unknown, wait?: number) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { kind, message, details } = fromErrorAnswer(status, text, wait, scrub)
  return { kind, message, ...details }
}
const error = (code: number, message: string, word: string, ...details: readonly object[]) => ({
  error: { code, message, status: word, ...(details.length > 0 && { details }) },
})

test.each([
  [400, 'rejected'],
  [404, 'rejected'],
  [401, 'unauthorized'],
  [403, 'unauthorized'],
  [429, 'overloaded'],
  [499, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
  [504, 'failed'],
])('status %i is %s, with or without a message', (status, kind) => {
  expect(read(status, '', 7)).toEqual({
    kind,
    message: `it answered with status ${status}`,
    status,
    retryAfterSeconds: 7,
  })
  expect(read(status, error(status, 'Words.', 'WORD'))).toEqual({
    kind,
    message: 'Words.',
    status,
    providerCode: 'WORD',
  })
})

test.each([
  [error(400, 'No.', 'INVALID_ARGUMENT', { reason: 'API_KEY_INVALID' }), 'API_KEY_INVALID'],
  [error(400, 'API key expired. Please renew.', 'INVALID_ARGUMENT'), 'INVALID_ARGUMENT'],
  [error(400, 'User location is not supported.', 'FAILED_PRECONDITION'), 'FAILED_PRECONDITION'],
])("the operator's fault, though it is a 400: %j", (body, providerCode) => {
  expect(read(400, body)).toMatchObject({ kind: 'unauthorized', providerCode })
})

test("an ordinary invalid argument is the client's fault", () => {
  const field = { fieldViolations: [{ field: 'contents', description: 'is not specified' }] }
  const body = error(400, 'Unable to submit: API key names are fine.', 'INVALID_ARGUMENT', field)
  expect(read(400, body)).toMatchObject({ kind: 'rejected', providerCode: 'INVALID_ARGUMENT' })
})

test.each([
  ['34.07s', 35],
  ['48s', 48],
  ['0s', 1],
  ['99999999s', 604_800],
  ['soon', 7],
  [12, 7],
])('a delay of %s, before what the header says', (retryDelay, seconds) => {
  const body = error(429, 'Slow down.', 'RESOURCE_EXHAUSTED', { links: [] }, { retryDelay })
  expect(read(429, body, 7)).toMatchObject({ kind: 'overloaded', retryAfterSeconds: seconds })
})

test.each([
  [
    'a quota of a minute',
    'limit: 1000000, model: m',
    'GenerateContentPaidTierInputTokensPerModelPerMinute',
    false,
  ],
  [
    'a quota of a day',
    'limit: 250, model: m',
    'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
    true,
  ],
  [
    'a quota of nothing',
    'limit: 0, model: m',
    'GenerateRequestsPerMinutePerProjectPerModel-FreeTier',
    true,
  ],
  ['a quota that is not named', 'limit: 0.5', undefined, false],
])('%s', (_, words, quotaId, isOut) => {
  const details = [{ violations: [{ quotaMetric: 'm', quotaId }] }, { retryDelay: '25s' }]
  const body = error(
    429,
    `Quota exceeded for metric: m, ${words}`,
    'RESOURCE_EXHAUSTED',
    ...details,
  )
  const { permanent, ...rest } = { permanent: undefined, ...read(429, body) }
  expect(rest).toMatchObject({ kind: 'overloaded', retryAfterSeconds: 25 })
  expect(permanent).toBe(isOut ? 'account' : undefined)
  expect(read(503, { ...body, error: { ...body.error, code: 503 } })).not.toHaveProperty(
    'permanent',
  )
})

test('a prompt that is too long is reported as such', () => {
  const message =
    'The input token count (1200001) exceeds the maximum number of tokens allowed (1048576).'
  expect(read(400, error(400, message, 'INVALID_ARGUMENT')).providerCode).toBe(
    'context_length_exceeded',
  )
  // Waiting may help here, so it is another thing.
  expect(read(429, error(429, message, 'RESOURCE_EXHAUSTED')).providerCode).toBe(
    'RESOURCE_EXHAUSTED',
  )
})

test.each([
  ['in a list, as a stream has it', [error(404, 'Not found.', 'NOT_FOUND')], 'Not found.'],
  ['without its envelope', { code: 404, message: 'Not found.' }, 'Not found.'],
  ['plain text', 'upstream connect error', 'upstream connect error'],
  ['a page', '<html><h1>404</h1></html>', 'it answered with status 404'],
  ['broken JSON', '{"error":', 'it answered with status 404'],
  ['nonsense', { error: { message: { a: 1 } } }, 'it answered with status 404'],
  ['a list of nothing', [], 'it answered with status 404'],
])('shape: %s', (_, body, message) => {
  expect(read(404, body)).toMatchObject({ kind: 'rejected', message })
})

test("hides the operator's identity", () => {
  const message =
    'Key AIzaSyA1234567890abcdef of generativelanguage.googleapis.com, see https://ai.google.dev/x?key=1'
  expect(read(400, error(400, message, 'X')).message).not.toMatch(/AIza|googleapis|https?:/)
})
