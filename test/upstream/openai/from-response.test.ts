// A whole answer becomes the same events as a stream.
import { expect, test } from 'vitest'
import { fromResponse } from '#upstream/openai/from-response.ts'
import { parseJson } from '#upstream/read-json.ts'
import { fold } from '../fixtures.ts'

const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

const read = (body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { events, failure } = fromResponse(parseJson(Buffer.from(text)), (words) => words)
  return { ...fold(events, failure), events }
}

const message = (fields: object, more: object = {}) =>
  read({ choices: [{ index: 0, message: { role: 'assistant', ...fields }, ...more }] })

test('text, finish, usage and other fields, in this order', () => {
  const { events } = read({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    provider: 'Other',
    choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
    system_fingerprint: 'fp',
    service_tier: null,
  })
  expect(events.map(({ type }) => type)).toEqual(['text-delta', 'finish', 'answer-fields', 'usage'])
  expect(events[0]).toEqual({ type: 'text-delta', choice: 0, text: 'Hi' })
  expect(events[2]).toEqual({ type: 'answer-fields', fields: { system_fingerprint: 'fp' } })
})

test.each([{ content: null }, {}, { content: '' }, { content: [] }])('no text: %j', (fields) => {
  expect(message(fields, { finish_reason: 'length' })).toMatchObject({
    text: '',
    finish: [{ choice: 0, reason: 'length', native: 'length' }],
    failure: null,
  })
})

test('a missing message is an answer without text', () => {
  expect(read({ choices: [{ finish_reason: 'content_filter' }] })).toMatchObject({
    text: '',
    finish: [{ choice: 0, reason: 'content_filter', native: 'content_filter' }],
  })
})

test('content in parts: thoughts, words and images', () => {
  const content = [
    {
      type: 'thinking',
      thinking: [
        { type: 'text', text: 'hm' },
        { type: 'text', text: 'm' },
      ],
    },
    { type: 'text', text: 'four' },
    { type: 'image_url', image_url: { url: PIXEL } },
    { type: 'reference', reference_ids: [1] },
    'ty',
  ]
  expect(message({ content })).toMatchObject({ reasoning: 'hmm', text: 'fourty', images: [PIXEL] })
})

test.each(['reasoning', 'reasoning_content'])('thoughts under %s', (name) => {
  expect(message({ content: 'x', [name]: 'because' }).reasoning).toBe('because')
})

test('reasoning that is sent twice is reported once', () => {
  expect(message({ reasoning: 'a', reasoning_content: 'a' }).reasoning).toBe('a')
})

test.each([null, [], undefined])('no tool calls: %j', (tool_calls) => {
  expect(message({ content: 'x', tool_calls }).toolCalls).toEqual([])
})

test('tool calls in parallel, of both kinds, with what else they carry', () => {
  const { events } = message(
    {
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra: { sig: 1 } },
        { id: 'b', type: 'custom', custom: { name: 'g', input: 'raw' } },
        { id: 'c', function: { name: 'h', arguments: { x: 1 } } },
        null,
      ],
    },
    { finish_reason: 'function_call' },
  )
  expect(events).toEqual([
    {
      type: 'tool-call-delta',
      choice: 0,
      index: 0,
      id: 'a',
      name: 'f',
      kind: 'function',
      arguments: '{}',
      fields: { extra: { sig: 1 } },
    },
    {
      type: 'tool-call-delta',
      choice: 0,
      index: 1,
      id: 'b',
      name: 'g',
      kind: 'custom',
      arguments: 'raw',
    },
    {
      type: 'tool-call-delta',
      choice: 0,
      index: 2,
      id: 'c',
      name: 'h',
      kind: 'function',
      arguments: '{"x":1}',
    },
    { type: 'finish', choice: 0, reason: 'tool_calls', native: 'function_call' },
  ])
})

test('tool calls that come without an id are given one each', () => {
  const named = (name: string, more: object = {}) => ({
    ...more,
    function: { name, arguments: '{}' },
  })
  const { toolCalls } = message({
    tool_calls: [
      named('f'),
      named('g', { id: '' }),
      named('h', { id: null }),
      named('i', { id: 'i' }),
    ],
  })
  const ids = toolCalls.map(({ id }) => id)
  expect(toolCalls.map(({ name }) => name)).toEqual(['f', 'g', 'h', 'i'])
  for (const id of ids.slice(0, 3)) expect(id).toMatch(/^call_[0-9a-f]{32}$/)
  expect(ids[3]).toBe('i')
  expect(new Set(ids).size).toBe(4)
})

test('a forced tool choice that ends in stop keeps that reason', () => {
  const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
  expect(message({ tool_calls: calls }, { finish_reason: 'stop' }).finish[0]?.reason).toBe('stop')
})

test('a refusal, logprobs, and unknown fields of the message', () => {
  const logprobs = { content: [{ token: 'x', logprob: -1 }], refusal: null }
  expect(message({ content: 'x' }, { logprobs }).events[0]).toEqual({
    type: 'text-delta',
    choice: 0,
    text: 'x',
    logprobs,
  })
  expect(message({ content: null, refusal: 'no' }).refusal).toBe('no')
  const kept = message({ content: 'x', annotations: [{ url: 'u' }], audio: null, mood: 'glad' })
  expect(kept.messageFields).toEqual({ annotations: [{ url: 'u' }], mood: 'glad' })
})

test('only images whose bytes are there are images; a remote one is still to be fetched', () => {
  const urls = [
    PIXEL,
    'data:image/png;charset=x;base64,/9j/4AAQ',
    'https://images.example/1.png',
    'data:image/png;base64,',
    'data:image/png;base64,not base64!',
    'data:image/png;base64,AAAAA',
    'data:image/png;base64,iVBORw0KGgoAA',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgA%',
    'data:image/png;base64,AAAA',
    'file:///etc/passwd',
    'data:text/html;base64,AAAA',
    'data:image/svg+xml,<svg/>',
  ]
  const images = [
    ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
    { image_url: PIXEL },
    { image_url: 7 },
    null,
  ]
  expect(message({ content: '', images }).images).toEqual([
    PIXEL,
    'data:image/jpeg;base64,/9j/4AAQ',
    urls[2],
    PIXEL,
  ])
})

test('several choices keep their indexes', () => {
  const { events } = read({
    choices: [
      { index: 1, message: { content: 'b' }, finish_reason: 'stop' },
      { message: { content: 'c' }, finish_reason: 'max_tokens', native_finish_reason: 'MAX' },
    ],
  })
  expect(events).toEqual([
    { type: 'text-delta', choice: 1, text: 'b' },
    { type: 'finish', choice: 1, reason: 'stop', native: 'stop' },
    { type: 'text-delta', choice: 1, text: 'c' },
    { type: 'finish', choice: 1, reason: 'length', native: 'MAX' },
  ])
})

test('white space before a body is ignored', () => {
  expect(read('\n    \n  {"choices":[{"message":{"content":"x"}}]}')).toMatchObject({
    text: 'x',
    failure: null,
  })
})

test.each([
  '',
  '   ',
  'null',
  '[]',
  '7',
  '"x"',
  '<html>',
  '{"choices":',
  '{}',
  '{"choices":[]}',
  '{"choices":{}}',
])('an invalid answer: %s', (text) => {
  expect(read(text)).toMatchObject({ events: [], failure: { kind: 'failed' } })
})

test('a usage within the choice is that of the answer, unless it has several', () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3 }
  const choice = { message: { content: 'a' }, finish_reason: 'stop', usage }
  expect(read({ choices: [choice] }).usage).toMatchObject({ inputTokens: 5, outputTokens: 3 })
  expect(read({ choices: [choice, choice] }).usage).toBeNull()
})

test('an error in a 200 is an error, and its usage is kept', () => {
  const usage = { prompt_tokens: 5, completion_tokens: 0 }
  const answer = read({
    error: { message: 'filtered', code: 'content_filter', status: 400 },
    usage,
  })
  expect(answer.failure).toMatchObject({ kind: 'rejected', message: 'filtered' })
  expect(answer.usage).toMatchObject({ inputTokens: 5 })
  expect(read({ choices: [{ error: { code: 502, message: 'x' } }] }).failure?.kind).toBe('failed')
})
