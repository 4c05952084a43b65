// Recorded answers of Anthropic, read by the whole upstream and by a second, naive reader, and compared.
import { describe, expect, test } from 'vitest'
import { type RecordedResponse, readRecording, recordings } from '#test/support/replay.ts'
import type { Folded } from '../fixtures.ts'
import { serveRecordings, testEveryDress } from '../recorded.ts'

const ours = recordings().filter(({ family }) => family === 'anthropic-messages')

// biome-ignore lint/suspicious/noExplicitAny: the second reading is meant to be naive.
type Wire = any

/** The message that a stream spells out, without any of the gateway's own code. */
function messageOf({ sse, body }: RecordedResponse): Wire {
  if (sse === undefined) return body
  const events: Wire[] = sse
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => JSON.parse(line.slice(5)))
  const message = structuredClone(events.find(({ type }) => type === 'message_start').message)
  for (const { type, index, content_block: block, delta, usage } of events) {
    if (type === 'content_block_start') message.content[index] = { ...block, partial_json: '' }
    if (type === 'content_block_delta') {
      const { type: _, ...said } = delta
      for (const [name, piece] of Object.entries(said)) message.content[index][name] += piece
    }
    if (type === 'message_delta') {
      message.stop_reason = delta.stop_reason
      Object.assign(message.usage, usage)
    }
  }
  for (const block of message.content)
    if (block.partial_json) block.input = JSON.parse(block.partial_json)
  return message
}

const REASONS: Record<string, string> = {
  end_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
}

function compare(answer: Folded, response: RecordedResponse): void {
  const { content, stop_reason: native, stop_details: details, usage } = messageOf(response)
  const of = (type: string): Wire[] => content.filter((block: Wire) => block.type === type)
  expect(answer.failure).toBeNull()
  expect(answer.text).toBe(
    of('text')
      .map(({ text }) => text)
      .join(''),
  )
  expect(answer.reasoning).toBe(
    of('thinking')
      .map(({ thinking }) => thinking)
      .join(''),
  )
  expect(answer.refusal).toBe(details?.explanation ?? '')
  const calls = answer.toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    name,
    input: JSON.parse(text),
  }))
  expect(calls).toEqual(of('tool_use').map(({ id, name, input }) => ({ id, name, input })))
  expect(answer.finish).toEqual([{ choice: 0, reason: REASONS[native], native }])
  const thoughts = [...of('thinking'), ...of('redacted_thinking')]
  const signed: readonly Wire[] = answer.thoughts
  expect(signed.map(({ signature, data }) => signature ?? data)).toEqual(
    thoughts.map(({ signature, data }) => signature ?? data),
  )
  expect(answer.usage).toEqual({
    inputTokens: usage.input_tokens,
    cacheReadTokens: usage.cache_read_input_tokens,
    cacheWriteTokens:
      usage.cache_creation_input_tokens - (usage.cache_creation?.ephemeral_1h_input_tokens ?? 0),
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    outputTokens: usage.output_tokens,
    reasoningTokens: usage.output_tokens_details?.thinking_tokens ?? 0,
    imageInputTokens: 0,
    imageOutputTokens: 0,
    inputImages: 0,
    outputImages: 0,
    searchUnits: 0,
    serverCalls: {},
  })
}

describe.skipIf(ours.length === 0)('recorded traffic', () => {
  const { ask, replay } = serveRecordings(() => 'anthropic', 'sk-ant-secret-123456')

  const plain = ({ failure, ...answer }: Folded) => ({ ...answer, failure: failure?.message })

  const good = ours.filter(({ status }) => status === 200)
  test('is all there', () => {
    expect(ours).toHaveLength(23)
    expect(good).toHaveLength(16)
  })

  test.each(good.map((recording) => [recording.name, recording] as const))(
    '%s says what was sent',
    async (name, recording) => compare(await ask(recording), readRecording(name)),
  )

  const streams = good.filter(({ stream }) => stream)
  testEveryDress(streams, ask, plain)

  test.each(streams.map((recording) => [recording.name, recording] as const))(
    '%s cut before its last event is no complete answer, and its prompt tokens are known',
    async (name, recording) => {
      const response = readRecording(name)
      const before = response.sse?.indexOf('event: message_delta') ?? 0
      const bytes = new TextEncoder().encode(response.sse?.slice(0, before)).length
      const answer = await ask(recording, `cut=${bytes}`)
      expect(answer.failure).toMatchObject({ kind: 'failed' })
      expect(answer.finish).toEqual([])
      expect(answer.usage?.inputTokens).toBe(messageOf(response).usage.input_tokens)
    },
  )

  const KINDS: Record<number, string> = {
    400: 'rejected',
    413: 'rejected',
    429: 'overloaded',
    500: 'failed',
    529: 'overloaded',
  }
  const errors = ours.filter(({ status }) => status !== 200)
  test.each(errors.map((recording) => [recording.name, recording] as const))(
    '%s is classified correctly',
    async (name, recording) => {
      const { failure } = await ask(recording)
      const { body, headers } = readRecording(name) as RecordedResponse & { body: Wire }
      expect(failure?.kind).toBe(KINDS[recording.status])
      expect(failure?.details.status).toBe(recording.status)
      expect(failure?.message.slice(0, 10)).toBe(body.error.message.slice(0, 10))
      expect(failure?.message).not.toMatch(/https?:|req_\w{8}|[0-9a-f]{8}-[0-9a-f]{4}-/)
      const wait = headers['retry-after']
      expect(failure?.details.retryAfterSeconds).toBe(wait ? Number(wait) : undefined)
    },
  )

  test('the particulars of errors', async () => {
    const details = async (slug: string) =>
      (await ask(ours.find(({ name }) => name.endsWith(slug))!)).failure?.details
    expect(await details('prompt-too-long')).toEqual({
      status: 400,
      providerCode: 'context_length_exceeded',
    })
    expect(await details('429-no-retry-after')).toEqual({
      status: 429,
      providerCode: 'rate_limit_error',
      permanent: 'request',
    })
    expect(await details('all-ratelimit-headers')).not.toHaveProperty('permanent')
    expect(await details('529-overloaded')).toMatchObject({ providerCode: 'overloaded_error' })
  })

  test('the request arrives where the operator said, with the operator’s credential', async () => {
    await replay().forget()
    await ask(ours.find(({ name }) => name === 'anthropic-messages/stream-text')!)
    const [seen] = await replay().requests()
    expect(seen).toMatchObject({
      method: 'POST',
      path: '/r/anthropic-messages/stream-text/messages',
      body: { model: 'model-9', stream: true, max_tokens: 4096 },
      headers: { 'x-api-key': 'sk-ant-secret-123456', 'anthropic-version': '2023-06-01' },
    })
    expect(seen?.headers).not.toHaveProperty('authorization')
  })
})
