// Recorded answers of the Responses API, read for a client of another dialect and by a second, naive reader, and compared.
import { describe, expect, test } from 'vitest'
import type { ChatEvent } from '#domain/chat.ts'
import { type SurfaceRecording, surfaceRecordings } from '#test/support/surface-recordings.ts'
import { fromResponse } from '#upstream/openai/responses/from-response.ts'
import { startStream } from '#upstream/openai/responses/from-stream.ts'
import { createSseReader } from '#upstream/sse.ts'
import { fold } from '../../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: the second reading is meant to be naive.
type Wire = any

const ORIGIN = { family: 'openai', provider: 'acme' } as const
const scrub = (text: string): string => text

/** Those that are not to be waited for, and those that failed. */
const UNFINISHED = new Set(['background', 'function-output', 'error-in-stream-fixture'])
const ours = surfaceRecordings('openai-responses').filter(
  ({ name, path, response }) =>
    /\/responses$/.test(path) && response.status === 200 && !UNFINISHED.has(name),
)
const streams = ours.filter(({ response }) => response.sse !== undefined)

/** The events of a stream that arrives in pieces of so many bytes. */
function streamed({ response }: SurfaceRecording, size: number): readonly ChatEvent[] {
  const bytes = Buffer.from(response.sse ?? '')
  const translation = startStream(scrub, ORIGIN)
  const reader = createSseReader()
  const batch: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size) {
    if (translation.take(reader.feed(bytes.subarray(at, at + size)), batch)) return batch
  }
  if (!translation.take(reader.end(), batch)) translation.close(batch)
  return batch
}

const read = (one: SurfaceRecording): readonly ChatEvent[] =>
  one.response.sse === undefined
    ? fromResponse(one.response.body, '', scrub, ORIGIN).events
    : streamed(one, Number.POSITIVE_INFINITY)

/** The last word of the provider: the items of the output, each whole. */
function outputOf({ response: { sse, body } }: SurfaceRecording): { items: Wire[]; answer: Wire } {
  if (sse === undefined) return { items: (body as Wire).output, answer: body }
  const chunks: Wire[] = sse
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
  const { response: answer } = chunks.findLast(({ response }) => response)
  const items = chunks
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item }) => item)
  return { items, answer }
}

const USED = { input_tokens: 0, output_tokens: 0 }

describe.skipIf(ours.length === 0)('a recorded answer', () => {
  // Of one stream most deltas were cut out when it was published.
  const full = ours.filter(({ name }) => name !== 'phase-stream-fixture')
  test.each(full)('$name says what was sent', (one) => {
    const { items, answer } = outputOf(one)
    const folded = fold(read(one))
    const parts = items.flatMap(({ type, content }) => (type === 'message' ? content : []))
    const told = (field: string) => parts.map((part) => part[field] ?? '').join('')
    expect(folded.text).toBe(told('text'))
    expect(folded.refusal).toBe(told('refusal'))
    const reasoning = items.filter(({ type }) => type === 'reasoning')
    const texts = ({ summary = [], content }: Wire) =>
      [...summary, ...(content ?? [])].map(({ text }) => text)
    expect(folded.reasoning).toBe(reasoning.map((item) => texts(item).join('\n\n')).join(''))
    expect(folded.thoughts).toEqual(
      reasoning
        .filter(({ encrypted_content: encrypted }) => encrypted)
        .map((item) => ({
          type: 'reasoning',
          id: item.id,
          summary: item.summary.map(({ text }: Wire) => text),
          encrypted: item.encrypted_content,
          origin: ORIGIN,
        })),
    )
    const calls = items.filter(({ type }) => /^(function|custom_tool)_call$/.test(type))
    expect(folded.toolCalls).toEqual(
      calls.map(({ call_id: id, name, arguments: text, input }) => ({
        id,
        name,
        arguments: text ?? input,
      })),
    )
    const cited = parts.flatMap(({ annotations = [] }) => annotations)
    expect(folded.messageFields['annotations'] ?? []).toHaveLength(
      cited.filter(({ type }) => type === 'url_citation').length,
    )
    const isCut = answer.status === 'incomplete'
    expect(folded.finish.map(({ reason }) => reason)).toEqual([
      isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    ])
    const { input_tokens: input, output_tokens: output, ...more } = answer.usage ?? USED
    expect(folded.usage).toMatchObject({
      inputTokens: input - (more.input_tokens_details?.cached_tokens ?? 0),
      outputTokens: output,
      reasoningTokens: more.output_tokens_details?.reasoning_tokens ?? 0,
    })
  })

  test.each(streams)('$name is the same in pieces of every size', (one) => {
    const whole = fold(read(one))
    for (const size of [1, 2, 3, 7, 64]) expect(fold(streamed(one, size))).toEqual(whole)
  })

  test.each(streams)('$name is not complete before its last event', (one) => {
    const text = one.response.sse ?? ''
    const cut = text.slice(0, text.search(/"type": ?"response\.(?:completed|incomplete)"/))
    const before = {
      ...one,
      response: { ...one.response, sse: cut.slice(0, cut.lastIndexOf('\n')) },
    }
    expect(() => streamed(before, 97)).toThrow('before the answer was complete')
  })
})

const stream = (...chunks: readonly Wire[]) => {
  const sse = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
  return fold(streamed({ response: { sse } } as never, 50))
}
const completed = (output: readonly Wire[] = [], more = {}) => ({
  type: 'response.completed',
  response: { output, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }, ...more },
})
const called = { type: 'function_call', call_id: 'c', name: 'f' }

test.each([
  [
    'W4: arguments that come in `done` alone',
    [
      { type: 'response.output_item.added', output_index: 0, item: { ...called, arguments: '' } },
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"x":1}' },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...called, arguments: '{"x":1}' },
      },
      completed(),
    ],
  ],
  [
    'W4: a call that comes at its end alone',
    [
      {
        type: 'response.output_item.done',
        output_index: 3,
        item: { ...called, arguments: '{"x":1}' },
      },
      completed(),
    ],
  ],
  ['an answer that is in its last event alone', [completed([{ ...called, arguments: '{"x":1}' }])]],
] as [string, Wire[]][])('%s', (_, chunks) => {
  const { toolCalls, finish } = stream(...chunks)
  expect(toolCalls).toEqual([{ id: 'c', name: 'f', arguments: '{"x":1}' }])
  expect(finish).toEqual([{ choice: 0, reason: 'tool_calls', native: 'completed' }])
})

test('log probabilities are of the text, in chat’s own shape; what was served is told', () => {
  const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }]
  const delta = { type: 'response.output_text.delta', output_index: 0, delta: 'a', logprobs }
  const sse = [delta, completed([], { service_tier: 'flex' })]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('')
  const events = streamed({ response: { sse } } as never, 1_000)
  expect(events[0]).toMatchObject({ type: 'text-delta', logprobs: { content: logprobs } })
  expect(fold(events).answerFields).toEqual({ service_tier: 'flex' })
})

test('searches of the vendor are counted, pages that they open are not', () => {
  const searched = (action?: Wire) => ({ type: 'web_search_call', action })
  const { events } = fromResponse(
    {
      status: 'completed',
      output: [searched({ type: 'search' }), searched({ type: 'open_page' }), searched()],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    '',
    scrub,
    ORIGIN,
  )
  expect(fold(events)).toMatchObject({
    toolCalls: [],
    finish: [{ reason: 'stop' }],
    usage: { serverCalls: { web_search: 2 } },
  })
})
