// Parsing Gemini's answers, whole and streamed, with every irregularity that it has been seen to produce.
import { describe, expect, test } from 'vitest'
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { fromResponse } from '#upstream/gemini/from-response.ts'
import { startStream } from '#upstream/gemini/from-stream.ts'
import { parseJson } from '#upstream/read-json.ts'
import { createSseReader } from '#upstream/sse.ts'
import { fold, sse } from '../fixtures.ts'

const same = (words: string): string => words
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'

/** Feeds a stream in pieces of `size` bytes. */
const read = (text: string, size = Number.POSITIVE_INFINITY) => {
  const translation = startStream(same)
  const reader = createSseReader()
  const bytes = new TextEncoder().encode(text)
  const events: ChatEvent[] = []
  try {
    for (let at = 0; at < bytes.length; at += size) {
      translation.take(reader.feed(bytes.slice(at, at + size)), events)
    }
    translation.take(reader.end(), events)
    translation.close(events)
  } catch (thrown) {
    return { ...fold(events, thrown), events }
  }
  return { ...fold(events), events }
}
const chunks = (...list: readonly (JsonObject | string)[]) => read(sse(...list))

const whole = (body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { events, failure } = fromResponse(parseJson(Buffer.from(text)), same)
  return { ...fold(events, failure), events }
}

const candidate = (parts: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
})
const END = { finishReason: 'STOP' }
const kinds = (events: readonly ChatEvent[]) => events.map(({ type }) => type)
const text = (words: string, more: JsonObject = {}) => ({ text: words, ...more })
const called = (name: string, more: JsonObject = {}, beside: JsonObject = {}) => ({
  functionCall: { name, ...more },
  ...beside,
})

describe('a stream has the meaning of the whole answer', () => {
  test('for thinking, text, tool calls, and the usage that grows with them', () => {
    const stream =
      ': comment\r\n\r\n' +
      sse(
        { ...candidate([text('hm', { thought: true })]), usageMetadata: { promptTokenCount: 5 } },
        candidate([text('naïve '), text('世')]),
        candidate([text('🙂', { thoughtSignature: 'T' })]),
        {
          ...candidate([called('f', { id: 'x', args: { é: [1] } })], END),
          usageMetadata: {
            promptTokenCount: 5,
            candidatesTokenCount: 2,
            thoughtsTokenCount: 3,
            totalTokenCount: 10,
          },
        },
      )
    const { events, ...expected } = read(stream)
    expect(expected).toMatchObject({
      reasoning: 'hm',
      text: 'naïve 世🙂',
      toolCalls: [{ id: 'x', name: 'f', arguments: '{"é":[1]}' }],
      finish: [{ choice: 0, reason: 'tool_calls', native: 'STOP' }],
      usage: { inputTokens: 5, outputTokens: 5, reasoningTokens: 3 },
      messageFields: {
        reasoning_details: [
          {
            type: 'reasoning.encrypted',
            format: 'google-gemini-v1',
            id: 'text',
            data: 'T',
            index: 0,
          },
        ],
      },
      failure: null,
    })
    expect(kinds(events).slice(-3)).toEqual(['message-fields', 'finish', 'usage'])
    for (const size of [1, 2, 3, 7, 64]) {
      expect(read(stream, size)).toMatchObject(expected)
      expect(read(stream.replaceAll(/\r?\n/g, '\r\n'), size)).toMatchObject(expected)
    }
  })

  test('chunks that arrive together are counted once, even when the last of them is invalid', () => {
    const said = (candidatesTokenCount: number) => ({
      data: JSON.stringify({
        ...candidate([text('a')]),
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount },
      }),
    })
    const counts = (...events: readonly { readonly data: string }[]) => {
      const batch: ChatEvent[] = []
      try {
        startStream(same).take(events, batch)
      } catch {
        batch.push({ type: 'text-delta', choice: 0, text: 'thrown' })
      }
      return batch.slice(-2)
    }
    const usage = { ...NO_USAGE, inputTokens: 5, outputTokens: 2 }
    const told = { type: 'usage', usage, partial: true }
    expect(counts(said(1), said(2))[1]).toEqual(told)
    expect(kinds(counts(said(1), said(2)))).toEqual(['text-delta', 'usage'])
    expect(counts(said(1), said(2), { data: '7' })[0]).toEqual(told)
  })

  test('usage is reported as it arrives, since a client may disconnect; it is partial until the end', () => {
    const translation = startStream(same)
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 }
    const take = (chunk: JsonObject): readonly ChatEvent[] => {
      const batch: ChatEvent[] = []
      translation.take([{ data: JSON.stringify({ ...chunk, usageMetadata }) }], batch)
      return batch.filter(({ type }) => type === 'usage')
    }
    const usage = { ...NO_USAGE, inputTokens: 5, outputTokens: 1 }
    expect(take(candidate([text('a')]))).toEqual([{ type: 'usage', usage, partial: true }])
    expect(take(candidate([text('b')], END))).toEqual([{ type: 'usage', usage }])
    expect(take({ promptFeedback: {} })).toEqual([{ type: 'usage', usage }])
  })

  test('a stream may arrive as one array of chunks', () => {
    expect(whole([candidate([text('a')]), candidate([text('b')], END)])).toMatchObject({
      text: 'ab',
      finish: [{ reason: 'stop', native: 'STOP' }],
      failure: null,
    })
  })
})

describe('the end', () => {
  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_RECITATION', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MISSING_THOUGHT_SIGNATURE', 'error'],
    ['OTHER', 'error'],
    ['NO_IMAGE', 'stop'],
    ['FINISH_REASON_UNSPECIFIED', 'stop'],
    ['constructor', 'stop'],
  ])('%s is %s, with or without parts', (native, reason) => {
    const finish = [{ choice: 0, reason, native }]
    expect(whole({ candidates: [{ finishReason: native }] }).finish).toEqual(finish)
    expect(chunks(candidate([text('a')], { finishReason: native })).finish).toEqual(finish)
    expect(whole({ candidates: [{ content: {}, finishReason: native }] }).failure).toBeNull()
  })

  test('tool calls that reached the token limit are cut off, not finished', () => {
    const { finish } = chunks(candidate([called('f')], { finishReason: 'MAX_TOKENS' }))
    expect(finish).toEqual([{ choice: 0, reason: 'length', native: 'MAX_TOKENS' }])
  })

  test('without a finish reason the answer is truncated; a second candidate needs one too', () => {
    expect(chunks(candidate([text('a')]))).toMatchObject({
      text: 'a',
      finish: [],
      failure: { kind: 'failed' },
    })
    const both = {
      candidates: [
        { content: { parts: [text('a')] }, ...END },
        { content: { parts: [text('b')] }, index: 1 },
      ],
    }
    expect(chunks(both).failure).toMatchObject({ kind: 'failed' })
    expect(chunks(both, { candidates: [{ index: 1, ...END }] }).finish).toHaveLength(2)
    expect(read('').failure).toMatchObject({ kind: 'failed' })
    expect(read(': only comments\n\n').failure).toMatchObject({ kind: 'failed' })
  })

  test('the first finish reason counts', () => {
    const { finish } = chunks(
      candidate([text('a')], { finishReason: 'SAFETY' }),
      candidate([], END),
    )
    expect(finish).toEqual([{ choice: 0, reason: 'content_filter', native: 'SAFETY' }])
  })

  test('a blocked prompt is an answer that a filter ended, billed by its usage', () => {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
    const counted = { ...blocked, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } }
    for (const answer of [whole(counted), chunks(counted)]) {
      expect(answer).toMatchObject({
        text: '',
        finish: [{ choice: 0, reason: 'content_filter', native: 'PROHIBITED_CONTENT' }],
        usage: { inputTokens: 9, outputTokens: 0 },
        failure: null,
      })
    }
    // Their JSON leaves zeros out: a count of nothing is one. Without any, the meter has to estimate.
    expect(whole({ ...blocked, usageMetadata: { trafficType: 'X' } }).usage).toMatchObject({
      inputTokens: 0,
    })
    expect(whole(blocked).usage).toBeNull()
  })

  test('a block reason next to candidates is ignored', () => {
    const feedback = { promptFeedback: { blockReason: 'OTHER' } }
    const { finish } = whole({ ...candidate([text('a')], END), ...feedback })
    expect(finish).toEqual([{ choice: 0, reason: 'stop', native: 'STOP' }])
  })
})

describe('tool calls', () => {
  test('have their arguments as JSON text, {} where there are none', () => {
    const calls = [called('f'), called('g', { args: {} }), called('h', { args: null })]
    expect(whole(candidate(calls, END)).toolCalls.map((one) => one.arguments)).toEqual([
      '{}',
      '{}',
      '{}',
    ])
  })

  test('in parallel, in one chunk or several, are numbered consecutively and never share an id', () => {
    const streamed = chunks(
      candidate([called('f', { args: { n: 1 } }), called('f', { args: { n: 2 } })]),
      candidate([called('f', { args: { n: 3 } })], END),
    )
    expect(streamed.toolCalls.map((one) => one.arguments)).toEqual([
      '{"n":1}',
      '{"n":2}',
      '{"n":3}',
    ])
    const again = whole(candidate([called('f')], END))
    const ids = [...streamed.toolCalls, ...again.toolCalls].map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    expect(ids.every((id) => /^call_[0-9a-f]{32}$/.test(id ?? ''))).toBe(true)
  })

  test('have their signature before the call, in it and in the details, under the id of the call', () => {
    const parts = [
      called('f', {}, { thoughtSignature: 'S1' }),
      called('g', { id: 'theirs' }, { thoughtSignature: 'S2' }),
    ]
    const { events, messageFields, toolCalls } = chunks(candidate(parts, END))
    expect(events[0]).toEqual({
      type: 'call-signature',
      choice: 0,
      signature: {
        type: 'call-signature',
        callId: toolCalls[0]?.id,
        data: 'S1',
        origin: { family: 'gemini' },
      },
    })
    expect(events[1]).toMatchObject({
      fields: { extra_content: { google: { thought_signature: 'S1' } } },
    })
    expect(messageFields['reasoning_details']).toEqual([
      expect.objectContaining({ id: toolCalls[0]?.id, data: 'S1', index: 0 }),
      expect.objectContaining({ id: 'theirs', data: 'S2', index: 1 }),
    ])
  })

  test('an empty part at the end may be signed; a thought need not be, as it is never sent back', () => {
    const { messageFields, text: came } = chunks(
      candidate([text('hm', { thought: true, thoughtSignature: 'lost' }), text('a')]),
      candidate([text('', { thoughtSignature: 'E' })], END),
    )
    expect(came).toBe('a')
    expect(messageFields['reasoning_details']).toMatchObject([{ id: 'end', data: 'E' }])
  })

  test('are separate for each candidate', () => {
    const body = {
      candidates: [
        { content: { parts: [text('a')] }, ...END },
        { content: { parts: [called('f')] }, index: 1, ...END },
      ],
    }
    expect(whole(body).finish).toEqual([
      { choice: 0, reason: 'stop', native: 'STOP' },
      { choice: 1, reason: 'tool_calls', native: 'STOP' },
    ])
    expect(whole(body).events[1]).toMatchObject({ choice: 1, index: 0 })
  })
})

describe('images', () => {
  const image = (mimeType: string, data: string, more: JsonObject = {}) => ({
    inlineData: { mimeType, data },
    ...more,
  })

  test('only image bytes are an image, whatever their media type', () => {
    const { images, messageFields } = whole(
      candidate(
        [
          image('image/png', PNG, { thoughtSignature: 'P' }),
          image('image/png', '/9j/4AAQSkZJ'),
          image('image/webp', 'UklGRiQAAABXRUJQ'),
          image('image/gif', 'R0lGODlhAQABAAAA'),
          image('image/png', 'AAAAAAAA'),
          image('image/svg+xml', 'PHN2Zz4='),
          image('image/png', `${PNG} `),
          image('image/png', ''),
          image('audio/wav', 'UklGRiQAAABXQVZF'),
          image('image/png', PNG, { thought: true }),
          { fileData: { fileUri: 'https://x.example' } },
        ],
        END,
      ),
    )
    expect(images).toEqual([
      `data:image/png;base64,${PNG}`,
      'data:image/jpeg;base64,/9j/4AAQSkZJ',
      'data:image/webp;base64,UklGRiQAAABXRUJQ',
      'data:image/gif;base64,R0lGODlhAQABAAAA',
    ])
    expect(messageFields['reasoning_details']).toMatchObject([{ id: 'image:0', data: 'P' }])
  })
})

test('log probabilities belong to the text of their chunk', () => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'é', logProbability: -0.5, tokenId: 3 }, { token: 'b' }],
    topCandidates: [{ candidates: [{ token: 'é', logProbability: -0.5 }] }],
  }
  const { events } = whole(candidate([text('é'), text('b')], { ...END, logprobsResult }))
  expect(events[1]).toEqual({
    type: 'text-delta',
    choice: 0,
    text: 'b',
    logprobs: {
      content: [
        {
          token: 'é',
          logprob: -0.5,
          bytes: [195, 169],
          top_logprobs: [{ token: 'é', logprob: -0.5, bytes: [195, 169] }],
        },
        { token: 'b', logprob: 0, bytes: [98], top_logprobs: [] },
      ],
      refusal: null,
    },
  })
  expect(events[0]).not.toHaveProperty('logprobs')
  expect(chunks(candidate([], { ...END, logprobsResult })).events[0]).toMatchObject({ text: '' })
})

describe('failures', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }

  test('an error in a stream, bare or in an array, keeps what arrived before it, usage included', () => {
    for (const said of [JSON.stringify(error), JSON.stringify([error])]) {
      const first = { ...candidate([text('a')]), usageMetadata: { promptTokenCount: 5 } }
      const { text: came, usage, finish, failure } = chunks(first, said)
      expect({ came, finish }).toEqual({ came: 'a', finish: [] })
      expect(usage).toMatchObject({ inputTokens: 5 })
      expect(failure).toMatchObject({
        kind: 'failed',
        message: 'The model is overloaded.',
        details: { status: 503, providerCode: 'UNAVAILABLE' },
      })
    }
  })

  test('an error inside a whole answer', () => {
    expect(whole([error])).toMatchObject({ events: [], failure: { kind: 'failed' } })
    expect(whole({ error: 'out of luck' }).failure).toMatchObject({ message: 'out of luck' })
  })

  test.each([
    '',
    '   ',
    'null',
    '[]',
    '7',
    '"x"',
    '[7]',
    '<html>',
    '{"candidates":',
    '{}',
    '{"candidates":[]}',
  ])('an invalid answer: %s', (body) => {
    expect(whole(body)).toMatchObject({ events: [], failure: { kind: 'failed' } })
  })

  test.each(['{"candidates":', 'hello', '7', 'null', '[1]'])('an invalid chunk: %s', (data) => {
    expect(chunks(candidate([text('a')]), data).failure).toMatchObject({ kind: 'failed' })
  })

  test('unknown values in a chunk are ignored', () => {
    const { text: said, failure } = chunks(
      {
        candidates: [
          null,
          7,
          { index: -1, content: { parts: [null, 'x', text('a'), { text: 7 }] } },
        ],
      },
      { candidates: 'none', usageMetadata: 'many' },
      { candidates: [{ index: 2, content: 'x', finishReason: 7 }] },
      { candidates: [{ index: 2, finishReason: 'STOP' }] },
    )
    expect({ said, failure }).toEqual({ said: 'a', failure: null })
  })
})
