// A chat request as a conversation: everything that providers of other wires are told of it, in order, with the client's paths.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Part } from '#domain/conversation.ts'
import { readReasoning } from '#http/surfaces/chat/read-request.ts'
import { aRequest } from '#test/support/nouns.ts'

const read = (body: JsonObject): Conversation => aRequest({ body }).conversation()
const partsOf = (...messages: readonly JsonObject[]): readonly Part[] =>
  read({ messages }).turns.flatMap(({ parts }) => parts)

const NOTHING: Conversation = {
  turns: [],
  tools: [],
  parallelToolCalls: true,
  sampling: {},
  stop: [],
  drawing: { withText: false },
  safetySettings: [],
  chatOnly: [],
}

test('a request that says nothing', () => {
  expect(read({})).toEqual(NOTHING)
  expect(
    read({ tool_choice: null, response_format: null, stop: null, seed: null, audio: null }),
  ).toEqual(NOTHING)
})

describe('turns', () => {
  test('instructions come first, wherever they were; the result of a tool is what a user says', () => {
    const turns = read({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'developer', content: [{ type: 'text', text: 'b' }] },
        { role: 'tool', tool_call_id: 'c1', name: 'f', content: 'd' },
      ],
    }).turns
    expect(turns.map(({ role, path }) => [role, path])).toEqual([
      ['system', 'messages[1].content'],
      ['user', 'messages[0].content'],
      ['user', 'messages[2].content'],
    ])
    expect(turns[2]?.parts).toEqual([
      {
        type: 'result',
        path: 'messages[2].content',
        callIdPath: 'messages[2].tool_call_id',
        callId: 'c1',
        name: 'f',
        parts: [{ type: 'text', path: 'messages[2].content', text: 'd' }],
        isError: false,
      },
    ])
  })

  test('parts are typed and keep their marks; a kind that only the wire knows is named', () => {
    const at = 'messages[0].content'
    expect(
      partsOf({
        role: 'user',
        content: [
          { type: 'text', text: 'look', cache_control: { type: 'ephemeral', ttl: '1h' } },
          { type: 'image_url', image_url: { url: 'data:Image/PNG;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x.example/a' }, cache_control: {} },
          {
            type: 'file',
            file: { file_data: 'data:application/pdf;name=a;base64,QQ==', filename: 'a.pdf' },
          },
          { type: 'file', file: { file_id: 'file-1' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'input_audio', input_audio: { data: 'AAAA' } },
          { type: 'video_url', video_url: {} },
          'no object',
        ],
      }),
    ).toEqual([
      { type: 'text', path: `${at}[0]`, text: 'look', cacheMark: { ttl: '1h' } },
      {
        type: 'image',
        word: 'image_url',
        path: `${at}[1].image_url.url`,
        source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' },
      },
      {
        type: 'image',
        word: 'image_url',
        path: `${at}[2].image_url.url`,
        source: { type: 'url', url: 'https://x.example/a' },
        cacheMark: { ttl: '5m' },
      },
      {
        type: 'document',
        word: 'file',
        path: `${at}[3].file.file_data`,
        source: { type: 'base64', mediaType: 'application/pdf', data: 'QQ==' },
        title: 'a.pdf',
      },
      {
        type: 'document',
        word: 'file',
        path: `${at}[4].file.file_data`,
        source: { type: 'reference' },
      },
      {
        type: 'audio',
        word: 'input_audio',
        path: `${at}[5].input_audio`,
        source: { type: 'base64', mediaType: 'audio/wav', data: 'AAAA' },
      },
      {
        type: 'audio',
        word: 'input_audio',
        path: `${at}[6].input_audio`,
        source: { type: 'reference' },
      },
      { type: 'unknown', path: `${at}[7]`, word: 'video_url' },
    ])
  })

  test('an answer: text, or else its refusal; images; calls of functions and of custom tools', () => {
    const image = { type: 'image_url', image_url: { url: 'https://x.example/a' } }
    const [said, drawn, ...calls] = partsOf({
      role: 'assistant',
      content: ' ',
      refusal: 'no',
      images: [image],
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'b', type: 'function', function: { name: 'g', arguments: { y: 2 } } },
        { id: 'c', type: 'custom', custom: { name: 'h', input: 'raw' } },
        {},
      ],
    })
    expect(said).toEqual({ type: 'text', path: 'messages[0].refusal', text: 'no' })
    expect(drawn).toMatchObject({ type: 'image', isDrawn: true, path: 'messages[0].images[0]' })
    expect(calls).toMatchObject([
      { id: 'a', name: 'f', kind: 'function', arguments: '{"x":1}' },
      { id: 'b', name: 'g', kind: 'function', arguments: '{"y":2}' },
      { id: 'c', name: 'h', kind: 'custom', arguments: 'raw' },
      {
        kind: 'function',
        arguments: '',
        path: 'messages[0].tool_calls[3]',
        argumentsPath: 'messages[0].tool_calls[3].function.arguments',
      },
    ])
    expect(calls[3]).not.toHaveProperty('id')
  })

  const thought = (text: string, index: number) => ({
    type: 'reasoning.text',
    format: 'anthropic-claude-v1',
    text,
    signature: `of ${text}`,
    index,
  })
  const kinds = (message: JsonObject) =>
    partsOf({ role: 'assistant', ...message }).map((part) =>
      'text' in part ? part.text : part.type,
    )

  test('thoughts stand at their index among what was said, and never last', () => {
    const tool_calls = ['a', 'b'].map((id) => ({ id, function: { name: 'f', arguments: '' } }))
    const texts = ['x', ' ', 'y'].map((text) => ({ type: 'text', text }))
    expect(
      kinds({ content: texts, tool_calls, reasoning_details: [thought('t', 1), thought('u', 9)] }),
    ).toEqual(['x', 't', ' ', 'y', 'call', 'u', 'call'])
    expect(kinds({ content: 'x', reasoning_details: [thought('t', 5)] })).toEqual(['t', 'x'])
    // Where the client kept only the calls.
    const [first, second] = tool_calls
    const kept = [{ ...first, reasoning_details: [thought('t', 0)] }, second]
    expect(kinds({ content: null, tool_calls: kept })).toEqual(['t', 'call', 'call'])
  })

  test('what is not signed is no thought; what is redacted is', () => {
    const redacted = { ...thought('', 0), type: 'reasoning.encrypted', data: 'd' }
    const details = [
      { ...thought('t', 0), signature: '' },
      { ...thought('u', 0), format: 'x' },
    ]
    expect(partsOf({ role: 'assistant', content: 'x', reasoning_details: details })).toHaveLength(1)
    const [part] = partsOf({ role: 'assistant', content: 'x', reasoning_details: [redacted] })
    expect(part).toEqual({ type: 'redacted', data: 'd', origin: { family: 'anthropic' } })
  })

  test('Gemini’s signatures return to the part that they came with', () => {
    const signatures = partsOf({
      role: 'assistant',
      content: 'x',
      images: [{ image_url: { url: 'https://x.example/a' } }],
      tool_calls: [
        { id: 'a', function: {}, extra_content: { google: { thought_signature: 'own' } } },
        { id: 'b', function: {} },
      ],
      reasoning_details: ['text', 'image:0', 'end', 'a', 'b'].map((id) => ({
        format: 'google-gemini-v1',
        id,
        data: `of ${id}`,
      })),
    }).map((part) => ('signature' in part ? part.signature : null))
    const origin = { family: 'gemini' }
    expect(signatures).toEqual(
      ['of text', 'of image:0', 'of end', 'own', 'of b'].map((data) => ({ data, origin })),
    )
  })
})

describe('tools', () => {
  test('functions, custom tools, and others', () => {
    const schema = { type: 'object' }
    expect(
      read({
        tools: [
          {
            type: 'function',
            function: { name: 'f', description: '', parameters: schema, strict: true },
            cache_control: { ttl: '5m' },
          },
          { type: 'custom', custom: { name: 'g', description: 'does g', format: { a: 1 } } },
          { type: 'web_search' },
        ],
        parallel_tool_calls: false,
      }),
    ).toMatchObject({
      parallelToolCalls: false,
      tools: [
        {
          type: 'function',
          path: 'tools[0]',
          namePath: 'tools[0].function.name',
          name: 'f',
          description: '',
          schema,
          isStrict: true,
          cacheMark: { ttl: '5m' },
        },
        { type: 'custom', name: 'g', description: 'does g', format: { a: 1 } },
        { type: 'unknown', path: 'tools[2]' },
      ],
    })
  })

  const named = { function: { name: 'f' } }
  test.each<[unknown, JsonObject]>([
    ['auto', { mode: 'auto' }],
    [
      { type: 'function', ...named },
      { mode: 'tool', name: 'f' },
    ],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named, {}] } },
      { mode: 'allowed', names: ['f'], isRequired: true },
    ],
    ['any', { mode: 'unknown' }],
    [{ type: 'function' }, { mode: 'unknown' }],
  ])('%j', (tool_choice, toolChoice) => {
    expect(read({ tool_choice }).toolChoice).toEqual(toolChoice)
  })
})

test('options', () => {
  const schema = { type: 'object' }
  const json_schema = { name: 'n', description: 'd', schema, strict: true }
  expect(
    read({
      response_format: { type: 'json_schema', json_schema },
      temperature: 0,
      top_p: 0.5,
      top_k: 4,
      presence_penalty: 1,
      frequency_penalty: 2,
      seed: 7,
      stop: ['a', '', 3],
      logprobs: true,
      top_logprobs: 2,
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '1:1', image_size: '2K', resolution: '2K' },
      safety_identifier: 's',
      cache_control: { type: 'ephemeral' },
      safety_settings: [1],
      logit_bias: {},
      functions: [{}],
    }),
  ).toEqual({
    ...NOTHING,
    format: { type: 'schema', name: 'n', description: 'd', schema, isStrict: true },
    sampling: {
      temperature: 0,
      topP: 0.5,
      topK: 4,
      presencePenalty: 1,
      frequencyPenalty: 2,
      seed: 7,
    },
    stop: ['a'],
    logprobs: { top: 2 },
    drawing: { withText: true, aspectRatio: '1:1', size: '2K' },
    endUser: 's',
    cacheMark: { ttl: '5m' },
    safetySettings: [1],
    chatOnly: [
      { path: 'logit_bias', isEmpty: true },
      { path: 'functions', isEmpty: false },
    ],
  })
  expect(read({ user: 'u', safety_identifier: 's' }).endUser).toBe('u')
  expect(read({ response_format: { type: 'json_object' } }).format).toEqual({ type: 'json' })
  expect(read({ response_format: { type: 'grammar' } }).format).toEqual({ type: 'unknown' })
  expect(read({ response_format: { type: 'text' } })).toEqual(NOTHING)
})

test.each<[JsonObject, JsonObject | null]>([
  [{}, null],
  [{ reasoning: {}, thinking: null }, null],
  [{ reasoning: { exclude: true } }, null],
  [{ reasoning_effort: 'low', reasoning: { max_tokens: 9 } }, { effort: 'low' }],
  [{ reasoning: { effort: 'low', max_tokens: 9 } }, { effort: 'low', budget: 9 }],
  [{ reasoning: { enabled: true } }, { effort: 'medium' }],
  [{ reasoning: { enabled: true, max_tokens: 9 } }, { budget: 9 }],
  [{ reasoning: { enabled: false, effort: 'high', max_tokens: 9 } }, { effort: 'none', budget: 9 }],
  [{ reasoning_effort: 5 }, { effort: '5' }],
  [
    { thinking: { type: 'enabled' }, reasoning_effort: 'low' },
    { effort: 'low', native: { type: 'enabled' } },
  ],
])('%j thinks as %j', (body, reasoning) => {
  expect(readReasoning(body)).toEqual(reasoning)
})
