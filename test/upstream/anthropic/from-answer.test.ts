// Whole answers and errors, in shapes that no recording contains.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { fromErrorAnswer } from '#upstream/anthropic/from-error.ts'
import { fromResponse } from '#upstream/anthropic/from-response.ts'
import { createScrub } from '#upstream/scrub.ts'
import { fold } from '../fixtures.ts'

const scrub = createScrub('api.anthropic.com', 'sk-ant-secret')
const message = (body: JsonObject) => ({ type: 'message', ...body })

describe('a whole answer', () => {
  test('may be empty', () => {
    const usage = { input_tokens: 3, output_tokens: 0 }
    const answer = fold(
      fromResponse(message({ content: [], stop_reason: 'end_turn', usage }), scrub),
    )
    expect(answer).toMatchObject({
      text: '',
      finish: [{ reason: 'stop', native: 'end_turn' }],
      usage: { inputTokens: 3, outputTokens: 0 },
    })
  })

  test('keeps the order of its blocks, and ignores unknown ones', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 1 } },
      { type: 'web_search_tool_result', content: [] },
      { type: 'text', text: 'b' },
      { type: 'tool_use', id: 't', name: 'f', input: {} },
      null,
    ]
    const answer = fold(fromResponse(message({ content, stop_reason: 'tool_use' }), scrub))
    expect(answer.text).toBe('ab')
    expect(answer.toolCalls).toEqual([{ id: 't', name: 'f', arguments: '{}' }])
    expect(answer.finish).toEqual([{ choice: 0, reason: 'tool_calls', native: 'tool_use' }])
    expect(answer.usage).toBeNull()
  })

  test('has an id for each tool call, from the provider or new', () => {
    const call = { type: 'tool_use', name: 'f', input: {} }
    const content = [call, { ...call, id: '' }]
    const { toolCalls } = fold(fromResponse(message({ content, stop_reason: 'tool_use' }), scrub))
    const ids = toolCalls.map(({ id }) => id)
    expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)])
    expect(ids[0]).not.toBe(ids[1])
  })

  test.each([
    [undefined, 'failed', 'its answer is not a JSON object'],
    ['upstream connect error', 'failed', 'its answer is not a JSON object'],
    [{ id: 'x' }, 'failed', 'its answer holds no content'],
    [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'overloaded',
      'Overloaded',
    ],
  ])('is invalid: %j', (body, kind, words) => {
    const reading = () => fromResponse(body, scrub)
    expect(reading).toThrow(UpstreamFailure)
    expect(reading).toThrow(expect.objectContaining({ kind, message: words }))
  })
})

describe('an error', () => {
  const failure = (
    status: number,
    body: JsonObject | string,
    headers: Record<string, string> = {},
  ) =>
    fromErrorAnswer(
      status,
      typeof body === 'string' ? body : JSON.stringify(body),
      new Headers(headers),
      scrub,
    )
  const said = (type: string, words: string) => ({ type: 'error', error: { type, message: words } })

  test.each([
    [400, 'rejected'],
    [401, 'unauthorized'],
    [402, 'unauthorized'],
    [403, 'unauthorized'],
    [404, 'rejected'],
    [413, 'rejected'],
    [429, 'overloaded'],
    [500, 'failed'],
    [502, 'failed'],
    [529, 'overloaded'],
  ])('%i is %s', (status, kind) => {
    expect(failure(status, said('some_error', 'words'))).toMatchObject({
      kind,
      message: 'words',
      details: { status, providerCode: 'some_error' },
    })
  })

  test('may be plain text, HTML or empty', () => {
    const envoy = failure(503, 'upstream connect error or disconnect/reset before headers')
    expect(envoy).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^upstream conn/),
    })
    expect(envoy.details).toEqual({ status: 503 })
    expect(failure(503, '<html>').message).toBe('it answered with status 503')
    expect(failure(529, '').message).toBe('it answered with status 529')
  })

  test('states its Retry-After in seconds, also when it is a date', () => {
    const limited = said('rate_limit_error', 'slow down')
    const date = 'Sat, 21 Nov 2026 10:00:00 GMT'
    const until = 'Sat, 21 Nov 2026 10:01:30 GMT'
    expect(failure(429, limited, { 'retry-after': '16' }).details.retryAfterSeconds).toBe(16)
    expect(failure(429, limited, { 'retry-after': until, date }).details.retryAfterSeconds).toBe(90)
  })

  test.each<[number, Record<string, string>, 'request' | undefined]>([
    [429, { 'x-should-retry': 'false' }, 'request'],
    [429, { 'x-should-retry': 'false', 'retry-after': '4' }, undefined],
    [429, { 'x-should-retry': 'true' }, undefined],
    [429, {}, undefined],
    [500, { 'x-should-retry': 'false' }, undefined],
  ])('%i with %j: no waiting helps is %s', (status, headers, permanent) => {
    expect(failure(status, said('x', 'y'), headers).details.permanent).toBe(permanent)
  })

  test.each([
    'prompt is too long: 3333404 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000',
  ])('too long: %s', (words) => {
    expect(failure(400, said('invalid_request_error', words)).details.providerCode).toBe(
      'context_length_exceeded',
    )
  })

  test('about an empty account is the operator’s fault, whatever its status', () => {
    const words = 'Your credit balance is too low to access the Anthropic API.'
    expect(failure(400, said('invalid_request_error', words)).kind).toBe('unauthorized')
  })

  test('is shown without the operator’s account', () => {
    const id = '0137b15c-16bf-490d-9f90-8cfd7e325ec0'
    const words = `limit (org: ${id}) of organization (${id}), key sk-ant-secret, see https://x.example`
    expect(failure(429, said('rate_limit_error', words)).message).not.toMatch(
      /0137b15c|secret|https/,
    )
  })
})
