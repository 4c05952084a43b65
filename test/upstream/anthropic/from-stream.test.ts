// Stream events built by hand: every way to end, tool calls in pieces, growing usage, and failures in between.
import { describe, expect, test } from 'vitest'
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { Meter } from '#domain/walk/meter.ts'
import { aCard, aRequest } from '#test/support/nouns.ts'
import { startStream } from '#upstream/anthropic/from-stream.ts'
import type { SseEvent } from '#upstream/sse.ts'
import { type Folded, fold } from '../fixtures.ts'

const event = (data: JsonObject): SseEvent => ({
  event: String(data['type']),
  data: JSON.stringify(data),
})
const start = (usage: JsonObject = { input_tokens: 9, output_tokens: 1 }): SseEvent =>
  event({ type: 'message_start', message: { usage } })
const open = (index: number, block: JsonObject): SseEvent =>
  event({ type: 'content_block_start', index, content_block: block })
const piece = (index: number, delta: JsonObject): SseEvent =>
  event({ type: 'content_block_delta', index, delta })
const close = (index: number): SseEvent => event({ type: 'content_block_stop', index })
const end = (reason: string, usage: JsonObject = { output_tokens: 5 }): SseEvent =>
  event({ type: 'message_delta', delta: { stop_reason: reason }, usage })
const STOP = event({ type: 'message_stop' })

const words = (text: string, index = 0): SseEvent[] => [
  open(index, { type: 'text', text: '' }),
  piece(index, { type: 'text_delta', text }),
  close(index),
]
const tool = (index: number, pieces: readonly string[], more: JsonObject = {}): SseEvent[] => [
  open(index, { type: 'tool_use', id: `toolu_${index}`, name: 'f', input: {}, ...more }),
  ...pieces.map((json) => piece(index, { type: 'input_json_delta', partial_json: json })),
  close(index),
]

interface Read extends Folded {
  readonly events: readonly ChatEvent[]
  readonly done: boolean
}

/** One event at a time, as they come slowly; then the line closes. */
function read(...events: readonly SseEvent[]): Read {
  const stream = startStream((text) => text)
  const batch: ChatEvent[] = []
  let done = false
  let failure: unknown = null
  try {
    for (const one of events) done ||= stream.take([one], batch)
    if (!done) stream.close(batch)
  } catch (thrown) {
    failure = thrown
  }
  return { ...fold(batch, failure), events: batch, done }
}

describe('the end of a stream', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['something_new', 'stop'],
  ])('%s is %s', (native, reason) => {
    const { finish, done } = read(start(), ...words('a'), end(native), STOP)
    expect(finish).toEqual([{ choice: 0, reason, native }])
    expect(done).toBe(true)
  })

  test('a refusal states its reason, where the provider does', () => {
    const details = { type: 'refusal', explanation: 'not that' }
    const delta = { stop_reason: 'refusal', stop_details: details }
    expect(read(start(), event({ type: 'message_delta', delta }), STOP)).toMatchObject({
      text: '',
      refusal: 'not that',
      finish: [{ reason: 'content_filter' }],
    })
  })

  test('the answer has ended before its last count is read, which therefore cuts nothing', () => {
    const { events, finish } = read(start(), ...words('a'), end('end_turn'), end('end_turn'), STOP)
    expect(finish).toHaveLength(1)
    const types = events.map(({ type }) => type)
    expect(types.slice(types.indexOf('finish'))).toEqual(['finish', 'usage', 'usage'])
  })

  test('the last event may be missing, the stop reason may not', () => {
    expect(read(start(), ...words('a'), end('end_turn')).failure).toBeNull()
    const broken = read(start(), ...words('a'))
    expect(broken).toMatchObject({ text: 'a', finish: [] })
    expect(broken.failure).toMatchObject({ kind: 'failed' })
    expect(read().failure).toMatchObject({ kind: 'failed' })
    expect(read(start(), ...words('a'), STOP).failure).toMatchObject({ kind: 'failed' })
  })
})

describe('tools', () => {
  test.each<[string, SseEvent[], string]>([
    ['in pieces', tool(0, ['', '{"a', '":', '1}']), '{"a":1}'],
    ['without arguments', tool(0, ['']), '{}'],
    ['without even a piece', tool(0, []), '{}'],
    ['whole, at once', tool(0, [], { input: { a: 1 } }), '{"a":1}'],
    ['never closed', tool(0, ['']).slice(0, -1), '{}'],
    ['cut short', tool(0, ['{"a']), '{"a'],
  ])('%s', (_, pieces, args) => {
    const { toolCalls, events } = read(start(), ...pieces, end('tool_use'), STOP)
    expect(toolCalls).toEqual([{ id: 'toolu_0', name: 'f', arguments: args }])
    const [opening, ...rest] = events.filter(({ type }) => type === 'tool-call-delta')
    expect(opening).toMatchObject({ id: 'toolu_0', name: 'f', arguments: '' })
    for (const later of rest) expect(later).not.toHaveProperty('id')
  })

  test('two calls with one id are two, each with an id', () => {
    const { toolCalls } = read(
      start(),
      ...tool(0, ['{"x":1}'], { id: 'toolu' }),
      ...tool(1, ['{"x":2}'], { id: 'toolu' }),
      end('tool_use'),
      STOP,
    )
    expect(toolCalls).toEqual([
      { id: 'toolu', name: 'f', arguments: '{"x":1}' },
      { id: expect.stringMatching(/^call_[0-9a-f]{32}$/), name: 'f', arguments: '{"x":2}' },
    ])
  })

  test('several tool calls after a text are numbered from 0; their pieces may interleave', () => {
    const [openA, pieceA, closeA] = tool(1, ['{"a":1}']) as [SseEvent, SseEvent, SseEvent]
    const [openB, pieceB, closeB] = tool(2, ['{"b":2}']) as [SseEvent, SseEvent, SseEvent]
    const mixed = [openA, openB, pieceB, pieceA, closeB, closeA]
    const { toolCalls, text } = read(start(), ...words('ok'), ...mixed, end('tool_use'), STOP)
    expect(text).toBe('ok')
    expect(toolCalls).toEqual([
      { id: 'toolu_1', name: 'f', arguments: '{"a":1}' },
      { id: 'toolu_2', name: 'f', arguments: '{"b":2}' },
    ])
  })
})

describe('thinking', () => {
  const thought = [
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    piece(0, { type: 'thinking_delta', thinking: 'h' }),
    piece(0, { type: 'thinking_delta', thinking: 'm' }),
    piece(0, { type: 'signature_delta', signature: 'sig' }),
    close(0),
  ]
  const origin = { family: 'anthropic' }

  test('is passed on as it arrives, and whole when it has come', () => {
    const secret = open(1, { type: 'redacted_thinking', data: 'x' })
    const all = [...thought, secret, close(1), ...words('a', 2), end('end_turn'), STOP]
    const { reasoning, thoughts } = read(start(), ...all)
    expect(reasoning).toBe('hm')
    expect(thoughts).toEqual([
      { type: 'thinking', text: 'hm', signature: 'sig', origin },
      { type: 'redacted', data: 'x', origin },
    ])
  })

  test('without a signature is not kept, as it cannot be sent back', () => {
    const unsigned = thought.filter(({ data }) => !data.includes('signature_delta'))
    const { reasoning, thoughts } = read(start(), ...unsigned, end('end_turn'), STOP)
    expect(reasoning).toBe('hm')
    expect(thoughts).toEqual([])
  })
})

describe('usage', () => {
  const stated = { input_tokens: 4, cache_read_input_tokens: 100, cache_creation_input_tokens: 7 }
  const prompt = { inputTokens: 4, cacheReadTokens: 100, cacheWriteTokens: 7 }

  test('W15: the first event has the prompt, the last one may omit it', () => {
    const { events, usage } = read(
      start({ ...stated, output_tokens: 1 }),
      ...words('a'),
      end('end_turn', { output_tokens: 60, output_tokens_details: { thinking_tokens: 40 } }),
      STOP,
    )
    const counts = events.filter((one) => one.type === 'usage')
    expect(counts.map(({ partial = false }) => partial)).toEqual([true, false])
    expect(counts[0]?.usage).toMatchObject({ ...prompt, outputTokens: 1 })
    expect(usage).toMatchObject({ ...prompt, outputTokens: 60, reasoningTokens: 40 })
  })

  test.each<[JsonObject, JsonObject]>([
    [{ input_tokens: null, cache_read_input_tokens: null, output_tokens: 5 }, prompt],
    [
      { input_tokens: 6, output_tokens: 5 },
      { ...prompt, inputTokens: 6 },
    ],
    // Servers that imitate the wire end with zeros; what was counted once is not taken back.
    [{ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 }, prompt],
  ])('a later event replaces the values that it states, and no others: %j', (last, expected) => {
    const { usage } = read(start({ ...stated, output_tokens: 1 }), end('end_turn', last), STOP)
    expect(usage).toMatchObject({ ...expected, outputTokens: 5 })
  })

  test('a broken stream is charged for the counted prompt and the output that arrived', () => {
    const { events } = read(
      start({ ...stated, output_tokens: 1 }),
      open(0, { type: 'text', text: '' }),
      piece(0, { type: 'text_delta', text: 'x'.repeat(400) }),
    )
    const meter = new Meter(aRequest({ textBytes: 4_000 }), aCard(), Number.POSITIVE_INFINITY)
    meter.note(events)
    expect(meter.read()).toMatchObject({
      source: 'estimated',
      usage: { ...prompt, outputTokens: 100 },
    })
  })

  test.each<readonly [string, JsonObject, JsonObject, object]>([
    ['no prompt', { output_tokens: 1 }, { output_tokens: 60 }, { inputTokens: 1_000 }],
    ['a text for the prompt', { input_tokens: '9', output_tokens: 1 }, { output_tokens: 60 }, {}],
    ['no output', { input_tokens: 9, output_tokens: 1 }, { input_tokens: 9 }, { inputTokens: 9 }],
  ])('a count that has %s is estimated there', (_, first, last, expected) => {
    const { events } = read(start(first), ...words('x'.repeat(400)), end('end_turn', last), STOP)
    const meter = new Meter(aRequest({ textBytes: 4_000 }), aCard(), Number.POSITIVE_INFINITY)
    meter.note(events)
    expect(meter.read()).toMatchObject({
      source: 'estimated',
      usage: { inputTokens: 1_000, ...expected, outputTokens: 100 },
    })
  })

  test('a prompt of zero that is stated stays', () => {
    const first = start({ input_tokens: 0, output_tokens: 0 })
    const { events } = read(first, ...words('a'), end('end_turn', { output_tokens: 60 }), STOP)
    const meter = new Meter(aRequest({ textBytes: 4_000 }), aCard(), Number.POSITIVE_INFINITY)
    meter.note(events)
    expect(meter.read()).toMatchObject({
      source: 'provider',
      usage: { inputTokens: 0, outputTokens: 60 },
    })
  })

  test("a first event without the prompt's tokens is no usage", () => {
    const { events } = read(start({ input_tokens: 0, output_tokens: 0 }), ...words('a'))
    expect(events.some(({ type }) => type === 'usage')).toBe(false)
  })

  test('absurd counts are limited, and a missing count is no usage', () => {
    const { usage } = read(start({ input_tokens: -5, output_tokens: 1e300 }), end('end_turn'), STOP)
    expect(usage).toMatchObject({ inputTokens: 0, outputTokens: 5 })
    expect(read(start({}), end('end_turn', {}), STOP).usage).toBeNull()
  })
})

describe('other events', () => {
  test('pings, unknown events, unknown blocks and padding are ignored', () => {
    const { text, failure } = read(
      start(),
      event({ type: 'ping' }),
      event({ type: 'brand_new', delta: { text: 'no' } }),
      open(0, { type: 'server_tool_use', id: 'x', name: 'web_search', input: {} }),
      piece(0, { type: 'input_json_delta', partial_json: '{"q":1}' }),
      close(0),
      piece(1, { type: 'citations_delta', citation: {} }),
      { event: 'content_block_start', data: `${open(1, { type: 'text', text: 'o' }).data}     ` },
      piece(1, { type: 'text_delta', text: 'k' }),
      { event: 'ping', data: '' },
      end('end_turn'),
      STOP,
    )
    expect(failure).toBeNull()
    expect(text).toBe('ok')
  })

  test.each<[SseEvent, string, string | undefined]>([
    [
      event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'overloaded',
      'overloaded_error',
    ],
    [
      event({ type: 'error', error: { type: 'rate_limit_error', message: 'slow' } }),
      'overloaded',
      'rate_limit_error',
    ],
    [
      event({ type: 'error', error: { type: 'api_error', message: 'Internal' } }),
      'failed',
      'api_error',
    ],
    [
      event({ type: 'error', error: { type: 'invalid_request_error', message: 'bad' } }),
      'rejected',
      'invalid_request_error',
    ],
    [
      event({ type: 'error', error: { type: 'authentication_error', message: 'no' } }),
      'unauthorized',
      'authentication_error',
    ],
    [
      event({ type: 'error', error: { type: 'timeout_error', message: 'late' } }),
      'timeout',
      'timeout_error',
    ],
    [{ event: 'error', data: 'upstream connect error' }, 'failed', undefined],
  ])('an error inside a 200: %j', (error, kind, code) => {
    const { failure, text, finish } = read(start(), ...words('half'), error)
    expect(text).toBe('half')
    expect(finish).toEqual([])
    expect(failure).toBeInstanceOf(UpstreamFailure)
    expect(failure?.kind).toBe(kind)
    expect(failure?.details.providerCode).toBe(code)
    expect(failure?.message).not.toBe('')
  })

  test('data that is not a JSON object fails the stream', () => {
    expect(read(start(), { event: 'ping', data: '<html>' }).failure).toMatchObject({
      kind: 'failed',
    })
    expect(read(start(), { event: 'ping', data: '[1]' }).failure).toMatchObject({ kind: 'failed' })
  })
})

describe('the vendor’s tools', () => {
  const search = (index: number, found: unknown = 'x'.repeat(398)): SseEvent[] => [
    open(index, { type: 'server_tool_use', id: `s${index}`, name: 'web_search', input: {} }),
    close(index),
    open(index + 1, { type: 'web_search_tool_result', tool_use_id: `s${index}`, content: found }),
    close(index + 1),
  ]
  const need = { kind: 'server-tool', tool: 'web_search', mostCalls: 5 } as const
  const asked = aRequest({ extras: [{ param: 'tools', what: 'searches', need }] })
  const pay = (...events: readonly SseEvent[]) => {
    const meter = new Meter(asked, aCard(), Number.POSITIVE_INFINITY)
    meter.note(read(...events).events)
    return meter.readAfterDisconnect().usage
  }

  test('a client that leaves after two searches pays both, and what they found as prompt', () => {
    const { serverCalls, inputTokens } = pay(start(), ...search(0), ...search(2), ...words('a', 4))
    expect(serverCalls).toEqual({ web_search: 2 })
    expect(inputTokens).toBe(9 + 200)
  })

  test('one that leaves before a search was seen pays what was asked for, as for any other vendor', () => {
    expect(pay(start(), ...words('a')).serverCalls).toEqual({ web_search: 1 })
    const none = { input_tokens: 9, output_tokens: 1, server_tool_use: { web_search_requests: 0 } }
    expect(pay(start(none), ...words('a')).serverCalls).toEqual({ web_search: 1 })
  })

  test('a search that failed is none', () => {
    const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' }
    expect(pay(start(), ...search(0, error), ...words('a', 2)).serverCalls).toEqual({
      web_search: 0,
    })
  })

  test('the count at the end replaces what was seen, and none there is none', () => {
    const seen = [start(), ...search(0), ...words('a', 2)]
    const counted = { input_tokens: 500, output_tokens: 5 }
    expect(pay(...seen, end('end_turn', counted), STOP)).toMatchObject({
      inputTokens: 500,
      serverCalls: {},
    })
    const server_tool_use = { web_search_requests: 3 }
    const stated = { ...counted, server_tool_use }
    expect(pay(...seen, end('end_turn', stated), STOP).serverCalls).toEqual({ web_search: 3 })
  })

  test('code that ran is counted by its results, which no usage states', () => {
    const run = [
      open(0, { type: 'server_tool_use', id: 'c', name: 'bash_code_execution', input: {} }),
      open(1, { type: 'bash_code_execution_tool_result', content: { type: 'x' } }),
    ]
    expect(pay(start(), ...run, ...words('a', 2)).serverCalls).toEqual({ code_execution: 1 })
    expect(pay(start(), ...run, end('end_turn'), STOP).serverCalls).toEqual({ code_execution: 1 })
  })
})
