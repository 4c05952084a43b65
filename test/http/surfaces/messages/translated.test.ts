// An answer of a provider of another dialect in the words of the Messages API: the order of its blocks, its ending, its counts.
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import type { ChatEvent, FinishReason } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { MESSAGES } from '#http/surfaces/messages/index.ts'
import { aRequest } from '#test/support/nouns.ts'

const HEAD = {
  ...{ id: 'gen-1', createdUnixSeconds: 1, model: 'acme/small', provider: 'acme' },
  isNative: false,
}
const THINKS = { reasoning: { native: { type: 'enabled' } } }

const charge = (usage: Partial<Usage> = {}): Charge =>
  ({ usage: { ...NO_USAGE, ...usage }, amount: 1_500n, costRub: 20_000n }) as unknown as Charge

const text = (words: string): ChatEvent => ({ type: 'text-delta', choice: 0, text: words })
const thought = (words: string): ChatEvent => ({ type: 'reasoning-delta', choice: 0, text: words })
const call = (index: number, words: string, more: object = {}): ChatEvent => ({
  type: 'tool-call-delta',
  choice: 0,
  index,
  kind: 'function',
  arguments: words,
  ...more,
})
const opens = (index: number, words = '', name = `f${index}`): ChatEvent =>
  call(index, words, { id: `call_${index}`, name })
const finish = (reason: FinishReason = 'stop'): ChatEvent => ({
  type: 'finish',
  choice: 0,
  reason,
  native: reason,
})

// biome-ignore lint/suspicious/noExplicitAny: what the client saw, as deep as a test looks.
type Wire = any

/** The events of a stream, one batch for each of ours; `usage` is what was charged. */
function stream(events: readonly ChatEvent[], more: object = {}, usage: Partial<Usage> = {}) {
  const renderer = MESSAGES.startStream(HEAD, aRequest({ ...more, includeUsage: false }))
  return events.map((event) => renderer.events([event])).join('') + renderer.end(charge(usage))
}

const parse = (frames: string): readonly Wire[] =>
  frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
      const event = JSON.parse(data)
      expect(event.type).toBe(name)
      return event
    })

/** What a careful client demands of a stream. */
function checkOrder(frames: string): readonly Wire[] {
  const events = parse(frames)
  let open: number | null = null
  let next = 0
  for (const [at, { type, index }] of events.entries()) {
    if (at === 0) expect(type).toBe('message_start')
    else expect(type).not.toBe('message_start')
    if (type === 'content_block_start') {
      expect([open, index]).toEqual([null, next++])
      open = index
    } else if (type === 'content_block_delta') expect(index).toBe(open)
    else if (type === 'content_block_stop') {
      expect(open).not.toBeNull()
      expect(index).toBe(open)
      open = null
    } else if (type === 'message_delta') expect(open).toBeNull()
  }
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop'])
  return events
}

/** The message that the stock client makes of it. */
async function sdk(frames: string): Promise<Anthropic.Message> {
  const client = new Anthropic({
    apiKey: 'x',
    maxRetries: 0,
    fetch: async () =>
      new Response(frames, { headers: { 'content-type': 'text/event-stream' } }) as never,
  })
  const asked = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'x' }] }
  return await client.messages.stream(asked).finalMessage()
}

const whole = (
  events: readonly ChatEvent[],
  more: object = {},
  usage: Partial<Usage> = {},
): Wire => {
  const fold = MESSAGES.startWhole(aRequest({ ...more, includeUsage: false }))
  for (const event of events) fold.note([event])
  return JSON.parse(fold.render(HEAD, charge(usage)).join(''))
}

/** Streamed and whole, which have to say the same. */
async function said(events: readonly ChatEvent[], more: object = {}, usage: Partial<Usage> = {}) {
  const frames = stream(events, more, usage)
  checkOrder(frames)
  const message = await sdk(frames)
  const { content, stop_reason, model, id } = whole(events, more, usage)
  expect({ ...message }).toMatchObject({ content, stop_reason, model, id })
  return message
}

describe('blocks', () => {
  test('W1: thinking, text and calls stand in blocks of their own, under one beginning', async () => {
    const events = [thought('a'), text('b'), thought('c'), text('d'), opens(0, '{}'), finish()]
    const { content } = await said(events, THINKS)
    expect(content.map((block) => block.type)).toEqual([
      ...['thinking', 'text', 'thinking', 'text', 'tool_use'],
    ])
    expect(content[0]).toEqual({ type: 'thinking', thinking: 'a', signature: '' })
  })

  test('W2: indices follow one another, and no block is closed that was not opened', () => {
    const events = [
      text(' '),
      opens(3, '{"a":1}'),
      text('x'),
      opens(7, '{"b":2}'),
      thought('no'),
      finish(),
    ]
    const frames = checkOrder(stream(events))
    const starts = frames.filter(({ type }) => type === 'content_block_start')
    expect(starts.map(({ index }) => index)).toEqual([0, 1, 2])
  })

  test('W3: the delta that opens a block is not lost', async () => {
    const { content } = await said([text('Hel'), text('lo'), opens(0, '{"a"'), call(0, ':1}')])
    expect(content).toMatchObject([{ text: 'Hello' }, { input: { a: 1 } }])
  })

  test('W4: arguments come whole, in pieces, before their name, in turns, or not at all', async () => {
    const whole = await said([opens(0, '{"a":1}'), opens(1), opens(2, ' '), finish('tool_calls')])
    expect(whole.content).toMatchObject([
      { id: 'call_0', name: 'f0', input: { a: 1 } },
      { id: 'call_1', name: 'f1', input: {} },
      { id: 'call_2', name: 'f2', input: {} },
    ])
    const inTurns = [
      ...[opens(0), opens(1), call(0, '{"a"'), call(1, '{"b"'), text('then'), call(0, ':1}')],
      ...[call(1, ':2}'), finish()],
    ]
    expect((await said(inTurns)).content).toMatchObject([
      { input: { a: 1 } },
      { input: { b: 2 } },
      { text: 'then' },
    ])
    const unnamed = [call(0, '{"a"', { id: 'call_0' }), call(0, ':1}', { name: 'late' }), finish()]
    expect((await said(unnamed)).content).toMatchObject([{ name: 'late', input: { a: 1 } }])
  })

  test('W4: arguments that are no object are a member of one, and a call that was cut off is read', async () => {
    const custom = [call(0, 'SELECT', { id: 'a', name: 'f', kind: 'custom' }), call(0, ' 1')]
    const events = [...custom, opens(1, '[1]'), opens(2, 'null'), finish()]
    expect((await said(events)).content).toMatchObject([
      { input: { input: 'SELECT 1' } },
      { input: { input: '[1]' } },
      { input: {} },
    ])
    const cut = [opens(0, '{"a":1,"b":"x'), finish('length')]
    expect((await sdk(stream(cut))).content).toMatchObject([{ input: { a: 1 } }])
    expect(whole(cut).content).toMatchObject([{ input: { input: '{"a":1,"b":"x' } }])
  })

  test('a call whose arguments are complete makes way for the next at once', () => {
    const renderer = MESSAGES.startStream(HEAD, aRequest())
    renderer.events([opens(0), call(0, '{"a":1}')])
    expect(renderer.events([opens(1, '{"b"')])).toContain('"partial_json":"{\\"b\\""')
  })

  test('W6: a text of nothing, or of blanks, is no block', async () => {
    const events = [text(''), text('\n'), text('\n'), opens(0, '{}'), text(' '), finish()]
    expect((await said(events)).content.map(({ type }) => type)).toEqual(['tool_use'])
    expect((await said([text('\n'), text('a '), text(' ')])).content).toMatchObject([
      { text: '\na  ' },
    ])
    expect((await said([finish()])).content).toEqual([])
  })

  test('thinking is shown to those who asked for it', async () => {
    expect((await said([thought('a'), text('b')])).content).toMatchObject([{ text: 'b' }])
  })

  test('an id is kept where the next turn may have it, and made where two are the same', async () => {
    const ids = async (...given: readonly string[]) => {
      const events = given.map((id, index) => call(index, '{}', { id, name: 'f' }))
      const frames = stream(events)
      return (await sdk(frames)).content.map((block) => block.type === 'tool_use' && block.id)
    }
    expect(await ids('call_1', 'toolu_2')).toEqual(['call_1', 'toolu_2'])
    const [mapped] = await ids('functions.f:0')
    expect(mapped).toMatch(/^toolu_[\da-f]{24}$/)
    expect(await ids('functions.f:0')).toEqual([mapped])
    const [first, second] = await ids('same', 'same')
    expect([first, second]).toEqual(['same', expect.stringMatching(/^toolu_/)])
  })
})

describe('the ending', () => {
  test.each<[string, readonly ChatEvent[], string | null]>([
    ['stop', [text('a'), finish()], 'end_turn'],
    ['stop beside calls', [opens(0, '{}'), finish()], 'tool_use'],
    ['calls', [opens(0, '{}'), finish('tool_calls')], 'tool_use'],
    ['a bound', [text('a'), finish('length')], 'max_tokens'],
    ['a bound in the middle of a call', [opens(0, '{"a'), finish('length')], 'max_tokens'],
    ['a filter', [text('a'), finish('content_filter')], 'refusal'],
    ['a refusal', [{ type: 'refusal-delta', choice: 0, text: 'no' }, finish()], 'refusal'],
    ['no word', [text('a')], 'end_turn'],
    ['an error', [text('a'), finish('error')], null],
  ])('W12: %s', (_, events, reason) => {
    expect(checkOrder(stream(events)).at(-2).delta).toEqual({
      stop_reason: reason,
      stop_sequence: null,
    })
    expect(whole(events).stop_reason).toBe(reason)
  })

  test('W12: a sequence of the client’s, where the server says which', () => {
    const stopped = (fields: object): ChatEvent => ({
      ...{ type: 'choice-fields', choice: 0 },
      fields: fields as never,
    })
    const more = { body: { stop_sequences: ['END', '5'] } }
    const endingOf = (fields: object, reason?: FinishReason) => {
      const events = [text('a'), stopped(fields), finish(reason)]
      const { stop_reason, stop_sequence } = whole(events, more)
      const { delta } = checkOrder(stream(events, more)).at(-2)
      expect(delta).toEqual({ stop_reason, stop_sequence })
      return [stop_reason, stop_sequence]
    }
    expect(endingOf({ stop_reason: 'END' })).toEqual(['stop_sequence', 'END'])
    expect(endingOf({ matched_stop: 'END' })).toEqual(['stop_sequence', 'END'])
    expect(endingOf({ stop_reason: 'stop', matched_stop: 5 })).toEqual(['end_turn', null])
    expect(endingOf({ stop_reason: 'END' }, 'length')).toEqual(['max_tokens', null])
  })

  test('after an error comes nothing', () => {
    const renderer = MESSAGES.startStream(HEAD, aRequest())
    renderer.events([text('a')])
    const frame = renderer.error(new GatewayError('upstream_overloaded', 'no'), 'req_1')
    expect(frame).toMatch(/^event: error\ndata: \{"type":"error",.*"overloaded_error".*\}\n\n$/)
    expect(renderer.end(null) + renderer.end(charge())).toBe('')
  })

  test('calls that wait are sent with the finish, and the ending after the receipt', () => {
    const renderer = MESSAGES.startStream(HEAD, aRequest())
    renderer.events([opens(0, '{'), opens(1, '{"b":2}')])
    const frames = renderer.events([call(0, '}'), finish()])
    expect(frames).toContain('call_1')
    expect(frames).not.toContain('message_delta')
    expect(parse(renderer.end(charge())).map(({ type }) => type)).toEqual([
      ...['message_delta', 'message_stop'],
    ])
  })
})

describe('usage', () => {
  const USED: Partial<Usage> = {
    inputTokens: 10,
    imageInputTokens: 5,
    cacheReadTokens: 100,
    cacheWriteTokens: 3,
    cacheWrite1hTokens: 4,
    outputTokens: 20,
    reasoningTokens: 6,
  }
  const COUNTS = {
    input_tokens: 15,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 7,
    output_tokens: 20,
  }

  test('W14: an estimate of the prompt at the beginning, and every count at the end', () => {
    const events = checkOrder(stream([text('a'), finish()], { textBytes: 4_000 }, USED))
    const { usage } = events[0].message
    expect(usage.input_tokens).toBeGreaterThan(500)
    expect(usage.output_tokens).toBe(1)
    expect(checkOrder(stream([], { textBytes: 0 }))[0].message.usage.input_tokens).toBe(1)
    expect(events.at(-2).usage).toMatchObject(COUNTS)
  })

  test('W16: what was cached is no part of the input', async () => {
    const { usage } = await said([text('a'), finish()], {}, USED)
    expect(usage).toMatchObject(COUNTS)
    expect(whole([text('a'), finish()], {}, USED).usage).toEqual({
      ...COUNTS,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      output_tokens_details: { thinking_tokens: 6 },
    })
  })

  test('with the cost, where the client asked for it', () => {
    const work = aRequest({ includeUsage: true })
    const renderer = MESSAGES.startStream(HEAD, work)
    expect(renderer.end(charge(USED))).toContain('"cost":0.0000015,"cost_rub":0.02}')
    const fold = MESSAGES.startWhole(work)
    fold.note([text('a')])
    expect(fold.render(HEAD, charge(USED)).join('')).toContain('"cost":0.0000015,"cost_rub":0.02}')
  })
})
