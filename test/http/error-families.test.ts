// The address decides the shape of an error, whatever the error: Anthropic's under /v1/messages and for whoever sends
// `anthropic-version`, OpenAI's everywhere else.
import { describe, expect, test } from 'vitest'
import { type ErrorCode, GatewayError } from '#domain/errors.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { renderError, statusOf } from '#http/surfaces/messages/render-error.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'
import { script } from '#test/support/scripted-upstream.ts'

const VERSION = { 'anthropic-version': '2023-06-01' }

const open = async () => openApi(await furnish())

interface ErrorBody {
  readonly type?: 'error'
  readonly error: {
    readonly type: string
    readonly code?: string
    readonly details: { readonly code: string }
  }
  readonly request_id: string
}

const bodyOf = async (response: Response): Promise<ErrorBody> =>
  (await response.clone().json()) as ErrorBody

async function shapeOf(response: Response) {
  const body = await bodyOf(response)
  expect(body.request_id).toBe(response.headers.get('x-request-id'))
  if (body.type !== 'error') {
    expect(response.headers.get('request-id')).toBeNull()
    return [response.status, body.error.type, body.error.code]
  }
  expect(response.headers.get('request-id')).toBe(body.request_id)
  return [response.status, body.error.type, body.error.details.code]
}

describe('the address, or the version, decides', () => {
  const MESSAGES = [404, 'not_found_error', 'route_not_found'] as const
  test.each([
    ['POST', '/v1/messages/batches', {}],
    ['GET', '/api/v1/messages/x?beta=true', {}],
    ['POST', '/v1//messages/batches/', {}],
    ['GET', '/v1/files', VERSION],
  ] as const)('Anthropic: %s %s %j', async (method, path, headers) => {
    const { app } = await open()
    const response = await app.request(`http://gateway.test${path}`, { method, headers })
    expect((await bodyOf(response)).type).toBe('error')
    expect(await shapeOf(response)).toEqual(MESSAGES)
  })

  test.each([
    ['POST', '/v1/messagesx'],
    ['GET', '/v1/files?x=/v1/messages'],
    ['GET', '/v2/messages/batches'],
  ] as const)('OpenAI: %s %s', async (method, path) => {
    const { app } = await open()
    const response = await app.request(`http://gateway.test${path}`, { method })
    expect((await bodyOf(response)).type).toBeUndefined()
    expect(await shapeOf(response)).toEqual([404, 'not_found_error', 'route_not_found'])
  })

  test('405 and 401 too', async () => {
    const { app } = await open()
    const ask = (method: string, path: string) =>
      app.request(`http://gateway.test${path}`, { method, headers: VERSION })
    expect(await shapeOf(await ask('DELETE', '/v1/models'))).toEqual([
      405,
      'invalid_request_error',
      'method_not_allowed',
    ])
    const refused = await ask('GET', '/v1/models')
    expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    expect(await shapeOf(refused)).toEqual([401, 'authentication_error', 'missing_api_key'])
  })
})

describe('codes in the Messages envelope', () => {
  test.each<[ErrorCode, number, string]>([
    ['context_length_exceeded', 400, 'invalid_request_error'],
    ['api_key_revoked', 401, 'authentication_error'],
    ['insufficient_balance', 402, 'billing_error'],
    ['model_not_allowed', 403, 'permission_error'],
    ['model_not_found', 404, 'not_found_error'],
    ['idempotency_conflict', 409, 'conflict_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['unsupported_media_type', 415, 'invalid_request_error'],
    ['spend_reserved', 429, 'rate_limit_error'],
    ['internal_error', 500, 'api_error'],
    ['upstream_error', 502, 'api_error'],
    ['no_route_available', 503, 'api_error'],
    ['upstream_overloaded', 529, 'overloaded_error'],
    ['shutting_down', 529, 'overloaded_error'],
    ['upstream_timeout', 504, 'timeout_error'],
  ])('%s: %i %s', (code, status, type) => {
    const metadata = { limit: 'x', limit_value: 3 }
    const error = new GatewayError(code, 'no', { param: 'model', metadata })
    expect(statusOf(code)).toBe(status)
    expect(JSON.parse(renderError(error, 'req_1'))).toEqual({
      type: 'error',
      error: {
        type,
        message:
          code === 'internal_error' ? 'the gateway failed while it handled this request' : 'no',
        details: { code, param: 'model', limit: 'x', limit_value: 3 },
      },
      request_id: 'req_1',
    })
  })

  test('a prompt that is too long is told in the words that clients look for', () => {
    const metadata = { limit: 'context_length', limit_value: 200_000, used: 210_000 }
    const error = new GatewayError('context_length_exceeded', 'shorten it', { metadata })
    expect(JSON.parse(renderError(error, 'req_1')).error.message).toBe(
      'prompt is too long: 210000 tokens > 200000 maximum; shorten it',
    )
  })

  test("a provider's refusal is told in its own words", () => {
    const cause = new UpstreamFailure('rejected', 'Unexpected role "system"')
    const error = new GatewayError('invalid_request', 'x refused: Unexpected role', { cause })
    expect(JSON.parse(renderError(error, 'req_1')).error.message).toBe('Unexpected role "system"')
  })
})

test.each([
  [60, null],
  [61, 'false'],
] as const)('a provider that wants a wait of %i s: x-should-retry %s', async (seconds, advice) => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  const played = script(
    async function* () {},
    async () => {
      throw new UpstreamFailure('overloaded', 'no', { retryAfterSeconds: seconds })
    },
  )
  const { chat } = openApi(deps, { upstream: played.upstream })
  const { status, headers } = await chat(bearer, hello())
  expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
    503,
    String(seconds),
    advice,
  ])
})
