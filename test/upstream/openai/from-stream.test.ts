// Parsing the chunks of a stream, with every irregularity that providers have been seen to produce.
import { describe, expect, test } from 'vitest'
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { startStream } from '#upstream/openai/from-stream.ts'
import { createSseReader } from '#upstream/sse.ts'
import { chunk, fold, sse } from '../fixtures.ts'

/** Feeds a stream in pieces of `size` bytes. */
const read = (text: string, size = Number.POSITIVE_INFINITY) => {
  const translation = startStream((words) => words)
  const reader = createSseReader()
  const bytes = new TextEncoder().encode(text)
  const events: ChatEvent[] = []
  try {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.slice(at, at + size)
      if (translation.take(reader.feed(piece), events)) return { ...fold(events), events }
    }
    if (!translation.take(reader.end(), events)) translation.close(events)
  } catch (thrown) {
    return { ...fold(events, thrown), events }
  }
  return { ...fold(events), events }
}

const chunks = (...list: readonly (JsonObject | string)[]) => read(sse(...list))
const USAGE = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
const types = (events: readonly ChatEvent[]) => events.map(({ type }) => type)

test('roles are dropped, text is kept, the finish occurs once and the usage after it', () => {
  const { events } = chunks(
    chunk({ role: 'assistant', content: '' }),
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({}, {}, 'stop'),
    { choices: [], usage: USAGE },
    '[DONE]',
  )
  expect(types(events)).toEqual(['text-delta', 'text-delta', 'finish', 'usage'])
})

test('the result is the same however the stream is split, and with any line ending', () => {
  const text =
    ': PROCESSING\n\n' +
    sse(
      chunk({ content: 'naïve 世' }, { system_fingerprint: 'fp' }),
      chunk({ reasoning: '🙂' }),
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"é":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
      chunk({}, { usage: USAGE }, 'tool_calls'),
      '[DONE]',
    )
  const { events: _, ...whole } = read(text)
  expect(whole.toolCalls).toEqual([{ id: 'a', name: 'f', arguments: '{"é":1}' }])
  for (const size of [1, 2, 3, 7, 64]) {
    expect(read(text, size)).toMatchObject(whole)
    expect(read(text.replaceAll('\n', '\r\n'), size)).toMatchObject(whole)
  }
})

describe('usage', () => {
  test('the last one counts: beside choices, twice, and in x_groq', () => {
    const later = { ...USAGE, completion_tokens: 9 }
    const { events, usage } = chunks(
      chunk({ content: 'a' }, { usage: USAGE, x_groq: { usage: USAGE } }),
      chunk({}, { x_groq: { id: 'r', usage: later } }, 'stop'),
      { choices: [], usage: later },
      '[DONE]',
    )
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 9 })
    expect(types(events)).toEqual(['text-delta', 'finish', 'usage'])
  })

  test('within the choice is that of the answer, unless it has several', () => {
    const counts = (...list: readonly JsonObject[]) =>
      chunks(...list, '[DONE]').events.filter(({ type }) => type === 'usage')
    const end = (index: number) => ({
      choices: [{ index, delta: {}, finish_reason: 'stop', usage: USAGE }],
    })
    const whole = counts(chunk({ content: 'a' }), end(0))
    expect(whole).toMatchObject([{ usage: { inputTokens: 10, outputTokens: 2 } }])
    expect(whole[0]).not.toHaveProperty('partial')
    const second = { choices: [{ index: 1, delta: { content: 'b' } }] }
    const ofTwo = counts(chunk({ content: 'a' }), end(0), second, end(1))
    expect(ofTwo.at(-1)).toMatchObject({ partial: true })
    const together = counts(chunk({ content: 'a' }), second, end(0), end(1))
    expect(together).toEqual([])
  })

  test('may be separate from the cost, however they are split', () => {
    const text = sse(
      chunk({ content: 'a' }, {}, 'stop'),
      { choices: [], usage: USAGE },
      { choices: [], usage: { cost_in_usd_ticks: 2_733_250 } },
      '[DONE]',
    )
    for (const size of [1, 40, text.length]) {
      expect(read(text, size)).toMatchObject({
        usage: { inputTokens: 10, outputTokens: 2 },
        statedCost: 273_325n,
      })
    }
  })

  test('that grows with every chunk is reported as it arrives, since a client may disconnect', () => {
    const translation = startStream((words) => words)
    const batch: ChatEvent[] = []
    const grown = { ...USAGE, completion_tokens: 1, total_tokens: 11 }
    translation.take([{ data: JSON.stringify(chunk({ content: 'a' }, { usage: grown })) }], batch)
    expect(fold(batch).usage).toMatchObject({ outputTokens: 1 })
  })

  test('of zeros in every chunk is not that of the whole answer before its end', () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    const begun = chunks(chunk({ content: 'a' }, { usage: zeros }), chunk({ content: 'b' }))
    const counts = begun.events.filter(({ type }) => type === 'usage')
    expect(counts).toMatchObject([{ partial: true }])
  })

  test('that content follows is not yet that of the whole answer, until another arrives', () => {
    const early = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
    const counts = (...list: readonly (JsonObject | string)[]) =>
      chunks(...list).events.filter(({ type }) => type === 'usage')
    const begun = [chunk({}, { usage: early }), chunk({ content: 'a' })]
    expect(counts(...begun, chunk({}, {}, 'stop'), '[DONE]').at(-1)).toMatchObject({
      partial: true,
    })
    // A client may disconnect, or the stream break, before anything else arrives.
    expect(counts(...begun).at(-1)).toMatchObject({ partial: true })
    const whole = counts(...begun, chunk({}, { usage: USAGE }, 'stop'), '[DONE]').at(-1)
    expect(whole).toMatchObject({ usage: { outputTokens: 2 } })
    expect(whole).not.toHaveProperty('partial')
  })

  test('of the prompt alone is partial, until one of both sides arrives', () => {
    const half = { choices: [], usage: { prompt_tokens: 10 } }
    const counts = (...list: readonly (JsonObject | string)[]) =>
      chunks(...list).events.filter(({ type }) => type === 'usage')
    const begun = [chunk({ content: 'a' }, {}, 'stop'), half]
    expect(counts(...begun, '[DONE]').at(-1)).toMatchObject({ partial: true })
    const cost = { choices: [], usage: { cost_in_usd_ticks: 2_733_250 } }
    expect(counts(...begun, cost, '[DONE]').at(-1)).toMatchObject({ partial: true })
    expect(counts(...begun, { choices: [], usage: USAGE }, '[DONE]').at(-1)).toEqual({
      type: 'usage',
      usage: expect.objectContaining({ inputTokens: 10, outputTokens: 2 }),
    })
  })

  test('zeros after a count take nothing back, in one piece or in many', () => {
    const zeros = {
      choices: [],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    }
    const text = sse(chunk({ content: 'a' }), chunk({}, { usage: USAGE }, 'stop'), zeros, '[DONE]')
    for (const size of [1, text.length]) {
      expect(read(text, size).events.at(-1)).toEqual({
        type: 'usage',
        usage: expect.objectContaining({ inputTokens: 10, outputTokens: 2 }),
      })
    }
  })

  test('null is no usage, zero is', () => {
    expect(chunks(chunk({ content: 'a' }, { usage: null }, 'stop'), '[DONE]').usage).toBeNull()
    const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    expect(chunks(chunk({}, { usage: zero }, 'stop'), '[DONE]').usage).toMatchObject({
      inputTokens: 0,
      outputTokens: 0,
    })
  })
})

describe('the end', () => {
  test("is given by the first reason, and the provider's own reason is kept", () => {
    const { finish } = chunks(
      chunk({ content: 'a' }),
      { choices: [{ index: 0, delta: {}, finish_reason: 'length', native_finish_reason: 'MAX' }] },
      chunk({ content: '' }, {}, 'stop'),
      '[DONE]',
    )
    expect(finish).toEqual([{ choice: 0, reason: 'length', native: 'MAX' }])
  })

  test.each([
    ['stop', 'stop'],
    ['end_turn', 'stop'],
    ['eos', 'stop'],
    ['stop_sequence', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['max_output_tokens', 'length'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['error', 'error'],
    ['something_new', 'stop'],
  ])('%s is %s', (word, reason) => {
    expect(chunks(chunk({ content: 'a' }, {}, word)).finish).toEqual([
      { choice: 0, reason, native: word },
    ])
  })

  test('is a reason without [DONE]; without either the answer is truncated', () => {
    expect(chunks(chunk({ content: 'a' }, {}, 'stop')).failure).toBeNull()
    const cut = chunks(chunk({ content: 'a' }))
    expect(cut).toMatchObject({ text: 'a', finish: [], failure: { kind: 'failed' } })
    expect(read('').failure).toMatchObject({ kind: 'failed' })
    expect(read(': nothing but comments\n\n').failure).toMatchObject({ kind: 'failed' })
  })

  test('is missing where only one of two choices has finished', () => {
    const both = {
      choices: [
        { index: 0, delta: { content: 'a' } },
        { index: 1, delta: { content: 'b' } },
      ],
    }
    expect(chunks(both, chunk({}, {}, 'stop')).failure).toMatchObject({ kind: 'failed' })
  })

  test('is [DONE] without a reason, with the likely reason', () => {
    expect(chunks(chunk({ content: 'a' }), '[DONE]').finish).toEqual([
      { choice: 0, reason: 'stop', native: 'stop' },
    ])
    const calls = [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }]
    expect(chunks(chunk({ tool_calls: calls }), '[DONE]').finish[0]?.reason).toBe('tool_calls')
  })

  test('is final: nothing after [DONE] counts', () => {
    expect(
      chunks(chunk({ content: 'a' }, {}, 'stop'), '[DONE]', chunk({ content: 'b' })).text,
    ).toBe('a')
  })

  test('may lack its blank line', () => {
    const text = sse(chunk({ content: 'a' }, {}, 'stop'), '[DONE]').trimEnd()
    expect(read(text)).toMatchObject({ failure: null, text: 'a' })
  })
})

describe('tool calls', () => {
  const call = (fields: object) => chunk({ tool_calls: [fields] })

  test('in parallel, piece by piece', () => {
    const { toolCalls } = chunks(
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
      call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"x"' } }),
      call({ index: 1, function: { arguments: '{}' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: '{}' },
    ])
  })

  test.each([
    ['without numbers', {}, {}],
    ['all numbered 0', { index: 0 }, { index: 0 }],
    ['numbered from 1', { index: 1 }, { index: 2 }],
  ])('whole, %s', (_, first, second) => {
    const { toolCalls } = chunks(
      call({ ...first, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }),
      call({ ...second, id: 'b', function: { name: 'f', arguments: '{"x":2}' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'f', arguments: '{"x":2}' },
    ])
  })

  test('pieces that repeat the id, the name, or carry a fresh id, belong to their call', () => {
    const { events, toolCalls } = chunks(
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }),
      call({ index: 0, id: 'a', function: { name: 'f', arguments: '"x":' } }),
      call({ index: 0, id: 'fresh', function: { arguments: '1' } }),
      call({ index: 0, id: '', function: { arguments: '}' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([{ id: 'a', name: 'f', arguments: '{"x":1}' }])
    expect(JSON.stringify(events).match(/"name":"f"/g)).toHaveLength(1)
  })

  test('one without an id gets one, with its first piece only', () => {
    const { events, toolCalls } = chunks(
      call({ index: 0, function: { name: 'f', arguments: '{"x"' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
      '[DONE]',
    )
    const id = expect.stringMatching(/^call_[0-9a-f]{32}$/)
    expect(toolCalls).toEqual([{ id, name: 'f', arguments: '{"x":1}' }])
    expect(JSON.stringify(events).match(/"id":/g)).toHaveLength(1)
  })

  const OURS = expect.stringMatching(/^call_[0-9a-f]{32}$/)
  test.each([
    ['no id and one index', { index: 0 }, { index: 0 }, OURS],
    ['no id and no index', {}, {}, OURS],
    ['one id and one index', { index: 0, id: 'a' }, { index: 0, id: 'a' }, 'a'],
    ['one id and two indexes', { index: 0, id: 'a' }, { index: 1, id: 'a' }, 'a'],
    ['one id and no index', { id: 'a' }, { id: 'a' }, 'a'],
  ])('two calls with %s are two, each with an id', (_, first, second, firstId) => {
    const { toolCalls } = chunks(
      call({ ...first, function: { name: 'f', arguments: '' } }),
      call({ ...first, function: { arguments: '{"x":' } }),
      call({ ...first, function: { arguments: '1}' } }),
      call({ ...second, function: { name: 'g', arguments: '' } }),
      call({ ...second, function: { arguments: '{"x":' } }),
      call({ ...second, function: { arguments: '2}' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([
      { id: firstId, name: 'f', arguments: '{"x":1}' },
      { id: OURS, name: 'g', arguments: '{"x":2}' },
    ])
    expect(toolCalls[0]?.id).not.toBe(toolCalls[1]?.id)
  })

  test('a call without arguments is not continued by one of another name, nor a whole one by another with its id', () => {
    const { toolCalls } = chunks(
      call({ index: 0, function: { name: 'f', arguments: '' } }),
      call({ index: 0, function: { name: 'g', arguments: '{}' } }),
      call({ index: 0, id: 'a', function: { name: 'h', arguments: '{"x":1}' } }),
      call({ index: 0, id: 'a', function: { name: 'h', arguments: '{"x":2}' } }),
      call({ index: 0, id: 'a', function: { name: 'h', arguments: '' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([
      { id: OURS, name: 'f', arguments: '' },
      { id: OURS, name: 'g', arguments: '{}' },
      { id: 'a', name: 'h', arguments: '{"x":1}' },
      { id: OURS, name: 'h', arguments: '{"x":2}' },
    ])
  })

  test('calls in one list without index are told apart by their places, piece by piece', () => {
    const list = (...calls: object[]) => chunk({ tool_calls: calls })
    const { toolCalls } = chunks(
      list({ function: { name: 'f', arguments: '' } }, { function: { name: 'f', arguments: '' } }),
      list({ function: { arguments: '{"x":' } }, { function: { arguments: '{"y":' } }),
      list({ function: { arguments: '1}' } }, { function: { arguments: '2}' } }),
      '[DONE]',
    )
    expect(toolCalls).toEqual([
      { id: OURS, name: 'f', arguments: '{"x":1}' },
      { id: OURS, name: 'f', arguments: '{"y":2}' },
    ])
  })

  test('a custom tool stays one in its later pieces', () => {
    const { events } = chunks(
      call({ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } }),
      call({ index: 0, custom: { input: 'y' } }),
      '[DONE]',
    )
    expect(events.slice(0, 2)).toMatchObject([
      { kind: 'custom', arguments: 'x' },
      { kind: 'custom', arguments: 'y' },
    ])
  })
})

describe('other fields', () => {
  test("fields of the answer are passed on when they change; padding and the provider's own are not", () => {
    const seen = {
      citations: ['a'],
      obfuscation: 'xyz',
      p: 'q',
      provider: 'Other',
      x_groq: { id: 'r' },
    }
    const { events } = chunks(
      { choices: [], id: '', prompt_filter_results: [{ a: 1 }] },
      chunk({ content: 'a' }, { ...seen, system_fingerprint: 'fp' }),
      chunk({ content: 'b' }, { ...seen, citations: ['a'], system_fingerprint: null }),
      chunk({ content: 'c' }, { citations: ['a', 'b'] }),
      '[DONE]',
    )
    expect(events.filter(({ type }) => type === 'answer-fields')).toEqual([
      { type: 'answer-fields', fields: { prompt_filter_results: [{ a: 1 }] } },
      { type: 'answer-fields', fields: { citations: ['a'], system_fingerprint: 'fp' } },
      { type: 'answer-fields', fields: { citations: ['a', 'b'] } },
    ])
  })

  test('a message beside a delta only repeats it; alone it is the answer', () => {
    const both = { choices: [{ index: 0, message: { content: 'ab' }, delta: { content: 'b' } }] }
    expect(chunks(chunk({ content: 'a' }), both, '[DONE]').text).toBe('ab')
    const alone = { choices: [{ index: 0, message: { content: 'ab' }, finish_reason: 'stop' }] }
    expect(chunks(alone).text).toBe('ab')
    expect(chunks(chunk({ content: 'ab' }), alone).text).toBe('ab')
  })

  test('logprobs belong to their text', () => {
    const logprobs = { content: [{ token: 'a', logprob: -1 }] }
    const { events } = chunks(
      { choices: [{ index: 0, delta: { content: 'a' }, logprobs }] },
      '[DONE]',
    )
    expect(events[0]).toEqual({ type: 'text-delta', choice: 0, text: 'a', logprobs })
  })
})

describe('errors', () => {
  const error = { error: { message: 'Token limit reached', code: 400 } }

  test('in a chunk, after an end: what came holds, its count too', () => {
    const { text, usage, finish, failure } = chunks(
      chunk({ content: 'a' }, {}, 'length'),
      chunk({ content: '' }, { ...error, usage: USAGE }),
      '[DONE]',
    )
    expect({ text, finish }).toEqual({ text: 'a', finish: [] })
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 2 })
    expect(failure).toMatchObject({ kind: 'rejected', message: 'Token limit reached' })
  })

  test('as an event of its own, in JSON or in words', () => {
    const named = (data: string) =>
      read(`${sse(chunk({ content: 'a' }))}event: error\ndata: ${data}\n\n`)
    expect(named(JSON.stringify(error))).toMatchObject({ text: 'a', failure: { kind: 'rejected' } })
    expect(named('out of luck').failure).toMatchObject({ kind: 'failed', message: 'out of luck' })
    expect(named(JSON.stringify({ ...error, usage: USAGE })).usage).not.toBeNull()
  })

  test.each([
    { error: 'overloaded' },
    { object: 'error', message: 'overloaded', code: 500 },
    { choices: [{ index: 0, error: { message: 'overloaded' }, finish_reason: 'error' }] },
    { choices: [], x_groq: { error: 'overloaded' } },
  ])('in the shape %j', (broken) => {
    expect(chunks(chunk({ content: 'a' }, {}, 'stop'), broken, '[DONE]').failure).toMatchObject({
      kind: 'failed',
      message: 'overloaded',
    })
  })

  test.each(['{"choices":', 'hello', '7', 'null', '[1]'])('a chunk that is none: %s', (data) => {
    expect(chunks(chunk({ content: 'a' }), data, '[DONE]').failure).toMatchObject({
      kind: 'failed',
    })
  })

  test('an error without content is ignored', () => {
    expect(chunks(chunk({ content: 'a' }, { error: null }, 'stop'), '[DONE]').failure).toBeNull()
  })
})

test('a stream without any content is a failure', () => {
  expect(chunks('[DONE]').failure).toMatchObject({ kind: 'failed' })
  expect(chunks({ choices: [], usage: USAGE }, '[DONE]').failure).toMatchObject({ kind: 'failed' })
})

test('a chunk that is nested too deeply is invalid', () => {
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`
  const said = `{"choices":[{"index":0,"delta":{"content":"b","x":${deep}}}]}`
  expect(chunks(chunk({ content: 'a' }), said)).toMatchObject({
    text: 'a',
    failure: { kind: 'failed' },
  })
})

test('two whole calls with one index are two calls', () => {
  const call = (city: string) => ({
    index: 0,
    id: '',
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ city }) },
  })
  const { toolCalls } = chunks(
    chunk({ tool_calls: [call('A'), call('B')] }),
    chunk({}, {}, 'tool_calls'),
    '[DONE]',
  )
  expect(toolCalls.map((one) => one.arguments)).toEqual(['{"city":"A"}', '{"city":"B"}'])
})

test('unknown values in a chunk are ignored', () => {
  const { text, failure } = chunks(
    { choices: [null, 7, { index: -1, delta: { content: 'a', tool_calls: 'x', images: {} } }] },
    { choices: 'none' },
    { choices: [{ index: 1e9, delta: null, finish_reason: 7 }] },
    '[DONE]',
  )
  expect({ text, failure }).toEqual({ text: 'a', failure: null })
})
