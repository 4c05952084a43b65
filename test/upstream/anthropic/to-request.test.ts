// The translation of every field of OpenAI's body, and the fields that are refused because Anthropic has no equivalent.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Generate } from '#domain/work.ts'
import { aCard } from '#test/support/nouns.ts'
import { toEndpoint } from '#upstream/anthropic/endpoint.ts'
import { toRequest } from '#upstream/anthropic/to-request.ts'
import { asked, provider, request } from '../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as deep as they like.
type Wire = any

const HAIKU = 'claude-haiku-4-5'

const sent = (body: JsonObject = {}, model = HAIKU, more: Partial<Generate> = {}): Wire =>
  toRequest(asked(request(body, more), aCard({ upstreamName: model, maxCompletionTokens: 64_000 })))

const messages = (...list: readonly JsonObject[]): readonly Wire[] =>
  sent({ messages: list }).messages

const text = (words: string): JsonObject => ({ type: 'text', text: words })
const refusal = (body: JsonObject, more: Partial<Generate> = {}): UpstreamFailure => {
  try {
    sent(body, HAIKU, more)
  } catch (thrown) {
    if (thrown instanceof UpstreamFailure) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}

describe('messages', () => {
  test('system and developer messages go to the system prompt, wherever they are', () => {
    const { system, messages } = sent({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
        { role: 'developer', content: [{ ...text('be kind'), cache_control: { ttl: '1h' } }] },
      ],
    })
    expect(system).toEqual([
      text('be brief'),
      { ...text('be kind'), cache_control: { type: 'ephemeral', ttl: '1h' } },
    ])
    expect(messages).toEqual([{ role: 'user', content: [text('hi')] }])
  })

  test("a system prompt alone becomes the user's message", () => {
    const body = sent({ messages: [{ role: 'system', content: 'say hi' }] })
    expect(body).not.toHaveProperty('system')
    expect(body.messages).toEqual([{ role: 'user', content: [text('say hi')] }])
  })

  test('consecutive messages of one role become one turn; empty texts are dropped', () => {
    expect(
      messages(
        { role: 'user', content: 'a' },
        { role: 'user', content: [text('b'), text(' \n')] },
        { role: 'assistant', content: 'c' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: [text('d')] },
        { role: 'user', content: 'e' },
      ),
    ).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
      { role: 'assistant', content: [text('c'), text('d')] },
      { role: 'user', content: [text('e')] },
    ])
  })

  test('tool results come first in their turn, with ids that Anthropic accepts', () => {
    const call = (id: string, args: string) => ({
      id,
      type: 'function',
      function: { name: 'get', arguments: args },
    })
    expect(
      messages(
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [call('functions.get:0', ''), call('b', '{"x":[1]}')],
        },
        { role: 'user', content: 'wait' },
        { role: 'tool', tool_call_id: 'functions.get:0', content: '' },
        {
          role: 'tool',
          tool_call_id: 'b',
          content: [
            text('seen'),
            { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
          ],
        },
      ).slice(1),
    ).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'functions_get_0', name: 'get', input: {} },
          { type: 'tool_use', id: 'b', name: 'get', input: { x: [1] } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'functions_get_0' },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            content: [
              text('seen'),
              { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
            ],
          },
          text('wait'),
        ],
      },
    ])
  })

  test('images and documents', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } })
    const [turn] = messages({
      role: 'user',
      content: [
        image('data:image/jpg;base64,AAAA'),
        { ...image('https://x.example/a.png'), cache_control: { type: 'ephemeral' } },
        {
          type: 'file',
          file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QQ==' },
        },
      ],
    })
    expect(turn.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
      {
        type: 'image',
        source: { type: 'url', url: 'https://x.example/a.png' },
        cache_control: { type: 'ephemeral' },
      },
      {
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' },
      },
    ])
  })

  test('an assistant prefill does not end in white space', () => {
    const [, start] = messages(
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'The answer is \n' },
    )
    expect(start.content).toEqual([text('The answer is')])
  })

  test("a refusal is sent as the assistant's text", () => {
    const [, said] = messages(
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, refusal: 'no' },
      { role: 'user', content: 'b' },
    )
    expect(said.content).toEqual([text('no')])
  })
})

describe('options', () => {
  test('max_tokens: the client’s, else the model’s, else 4096', () => {
    expect(sent({}, HAIKU, { maxOutputTokens: 7 }).max_tokens).toBe(7)
    expect(sent().max_tokens).toBe(64_000)
    expect(toRequest(asked(request(), aCard())).max_tokens).toBe(4_096)
  })

  test.each([
    [
      'claude-3-5-sonnet-20240620',
      { temperature: 1.7, top_p: 0.9 },
      { temperature: 1, top_p: 0.9 },
    ],
    ['claude-opus-4-20250514', { temperature: 0, top_p: 0.9 }, { temperature: 0, top_p: 0.9 }],
    [HAIKU, { temperature: 0.2, top_p: 0.9 }, { temperature: 0.2 }],
    [HAIKU, { temperature: 1, top_p: 0.9 }, { top_p: 0.9 }],
    [HAIKU, { temperature: 1, top_p: 1 }, { temperature: 1 }],
    [HAIKU, { top_p: 0.9, top_k: 5 }, { top_p: 0.9, top_k: 5 }],
    ['claude-opus-4-8', { temperature: 0.2, top_p: 0.9, top_k: 4 }, {}],
    ['claude-sonnet-5', { temperature: 0.2 }, {}],
    [HAIKU, { temperature: 0.2, reasoning_effort: 'low' }, {}],
    ['kimi-k2', { temperature: 0.2, top_p: 0.9 }, { temperature: 0.2, top_p: 0.9 }],
  ])('%s: %j becomes %j', (model, asked, expected) => {
    const { temperature, top_p, top_k } = sent(asked, model)
    expect(JSON.parse(JSON.stringify({ temperature, top_p, top_k }))).toEqual(expected)
  })

  test('stop, user, and the cache of the whole prompt', () => {
    expect(sent({ stop: 'END' }).stop_sequences).toEqual(['END'])
    expect(sent({ stop: ['a', '', 'b'] }).stop_sequences).toEqual(['a', 'b'])
    expect(sent({ user: 'u_1' }).metadata).toEqual({ user_id: 'u_1' })
    expect(sent({ safety_identifier: 's' }).metadata).toEqual({ user_id: 's' })
    for (const mark of [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }]) {
      expect(sent({ cache_control: mark }).cache_control).toEqual(mark)
    }
    expect(sent({ cache_control: { ttl: '5m' } }).cache_control).toEqual({ type: 'ephemeral' })
  })

  test('a speed and a region, which a card has priced', () => {
    const extra = (field: string, value: string): Extra => ({
      param: field,
      what: '',
      need: { kind: 'modifier', field, value },
    })
    const extras = [extra('speed', 'fast'), extra('inference_geo', 'us')]
    expect(sent({}, HAIKU, { extras })).toMatchObject({ speed: 'fast', inference_geo: 'us' })
  })

  test('harmless unknown fields are dropped, and so are those that cost money', () => {
    const body = sent({
      seed: 1,
      presence_penalty: 1,
      frequency_penalty: 1,
      logprobs: false,
      logit_bias: {},
      store: true,
      metadata: { a: 'b' },
      service_tier: 'priority',
      verbosity: 'low',
      prediction: {},
      speed: 'standard',
      inference_geo: 'global',
      container: 'c',
      mcp_servers: [{ url: 'https://x.example' }],
      base_url: 'https://x.example',
      stream_options: { include_usage: true },
    })
    expect(Object.keys(body).sort()).toEqual(['max_tokens', 'messages', 'model'])
  })

  test.each<[string, JsonObject, Partial<Generate>?]>([
    ['n', {}, { choices: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 2 } }],
    ['functions', { functions: [] }],
    ['audio', { audio: {} }],
    ['stop', { stop: ['\n'] }],
    ['tools[0]', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['tools[0]', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tool_choice', { tools: [{ type: 'function', function: { name: 'x' } }], tool_choice: 'any' }],
    ['response_format', { response_format: { type: 'json_schema' } }],
    ['reasoning_effort', { reasoning_effort: 'tremendous' }],
    ['messages:', { messages: [{ role: 'user', content: ' ' }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    [
      'messages[0].content: an image',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AAAA' } }],
          },
        ],
      },
    ],
    [
      'messages[0].content: a file',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    ],
    [
      'messages[0].content: only text',
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: {} }] }] },
    ],
    ...['{"x":', '[1]', '"a"'].map((args): [string, JsonObject] => [
      'messages[0].tool_calls[0].function.arguments',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }],
          },
        ],
      },
    ]),
    [
      'messages[0].tool_calls[0]',
      { messages: [{ role: 'assistant', tool_calls: [{ type: 'function' }] }] },
    ],
  ])('refused before anything is sent, naming the field: %s', (field, body, more) => {
    const { kind, message, details } = refusal(body, more)
    expect(kind).toBe('rejected')
    expect(message.startsWith(field)).toBe(true)
    expect(field.startsWith(details.param ?? 'a field')).toBe(true)
  })
})

describe('tools', () => {
  const tool = (more: JsonObject = {}) => ({ type: 'function', function: { name: 'f', ...more } })

  test('a function without parameters accepts an empty object', () => {
    expect(sent({ tools: [tool()] }).tools).toEqual([
      { name: 'f', input_schema: { type: 'object', properties: {} } },
    ])
  })

  test('a schema is strict where the model supports it', () => {
    const tools = [tool({ strict: true, parameters: { type: 'object' } })]
    expect(sent({ tools }).tools[0].strict).toBe(true)
    expect(sent({ tools }, 'claude-3-5-haiku-20241022').tools[0]).not.toHaveProperty('strict')
    expect(sent({ tools: [{ ...tool(), cache_control: {} }] }).tools[0].cache_control).toEqual({
      type: 'ephemeral',
    })
  })

  test.each<[JsonObject, JsonObject | undefined]>([
    [{}, undefined],
    [{ tool_choice: 'auto' }, { type: 'auto' }],
    [{ tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }],
    [{ tool_choice: 'required' }, { type: 'any' }],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, { type: 'tool', name: 'f' }],
    [{ parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [{ parallel_tool_calls: true }, undefined],
  ])('%j becomes %j', (asked, choice) => {
    expect(sent({ tools: [tool()], ...asked }).tool_choice).toEqual(choice)
  })

  const named = (name: string) => ({ type: 'function', function: { name } })
  const among = (mode: string, ...names: readonly string[]) => ({
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools: names.map(named) } },
  })

  test.each<[JsonObject, readonly string[], JsonObject]>([
    [among('auto', 'g'), ['g'], { type: 'auto' }],
    [among('required', 'h', 'f'), ['f', 'h'], { type: 'any' }],
    [
      { ...among('auto', 'f'), parallel_tool_calls: false },
      ['f'],
      { type: 'auto', disable_parallel_tool_use: true },
    ],
    [among('required', 'x'), ['f', 'g', 'h'], { type: 'none' }],
    [{ tool_choice: { type: 'allowed_tools' } }, ['f', 'g', 'h'], { type: 'none' }],
  ])('%j leaves %j', (asked, names, choice) => {
    const body = sent({ tools: [named('f'), named('g'), named('h')], ...asked })
    expect(body.tools.map(({ name }: { name: string }) => name)).toEqual(names)
    expect(body.tool_choice).toEqual(choice)
  })

  test('a tool choice without tools is dropped', () => {
    const body = sent({ tool_choice: 'auto', parallel_tool_calls: false })
    expect(body).not.toHaveProperty('tool_choice')
  })

  test('a conversation that called tools declares them, even when none are offered any more', () => {
    const { tools, tool_choice: choice } = sent({
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'ok' },
      ],
    })
    expect(tools).toEqual([{ name: 'f', input_schema: { type: 'object' } }])
    expect(choice).toEqual({ type: 'none' })
  })
})

describe('the format of an answer', () => {
  test('a JSON object is requested by an instruction', () => {
    const { system, output_config: config } = sent({ response_format: { type: 'json_object' } })
    expect(system).toEqual([text(expect.stringContaining('one valid JSON object') as never)])
    expect(config).toBeUndefined()
  })

  test("constraints that Anthropic refuses are dropped; the schema's structure remains", () => {
    const schema = {
      type: ['object', 'null'],
      properties: {
        minimum: { type: 'integer', minimum: 1, maximum: 5 },
        tags: { type: 'array', minItems: 2, maxItems: 3, items: { type: 'string', minLength: 1 } },
        some: { type: 'array', minItems: 1, items: { type: 'string', enum: ['a'] } },
      },
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    expect(sent({ response_format }).output_config.format.schema).toEqual({
      type: ['object', 'null'],
      properties: {
        minimum: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' } },
        some: { type: 'array', minItems: 1, items: { type: 'string', enum: ['a'] } },
      },
      additionalProperties: false,
    })
  })

  test('objects without additionalProperties are closed, at any depth; nothing else changes', () => {
    const { output_config: config } = sent({
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'x',
          schema: {
            type: 'object',
            properties: {
              items: { type: 'array', items: { $ref: '#/$defs/one' } },
              type: { enum: ['object'], default: { type: 'object' } },
              open: { type: 'object', additionalProperties: true },
            },
            $defs: { one: { anyOf: [{ type: 'object', properties: {} }, { type: 'null' }] } },
          },
        },
      },
    })
    expect(config.format.schema).toEqual({
      type: 'object',
      additionalProperties: false,
      properties: {
        items: { type: 'array', items: { $ref: '#/$defs/one' } },
        type: { enum: ['object'], default: { type: 'object' } },
        open: { type: 'object', additionalProperties: true },
      },
      $defs: {
        one: {
          anyOf: [
            { type: 'object', properties: {}, additionalProperties: false },
            { type: 'null' },
          ],
        },
      },
    })
  })
})

test.each([
  ['https://api.anthropic.com/v1', 'https://api.anthropic.com/v1/messages'],
  ['https://x.example/anthropic/v1/', 'https://x.example/anthropic/v1/messages'],
  ['https://x.example/v1/messages', 'https://x.example/v1/messages'],
])('the path is appended to the base URL: %s', (baseUrl, url) => {
  expect(toEndpoint(provider(baseUrl, 'anthropic'), null)).toMatchObject({
    url,
    auth: { 'anthropic-version': '2023-06-01' },
  })
})

test.each(['file:///etc/passwd', 'data:text/plain,x', ''])(
  'an invalid base URL is refused: %s',
  (baseUrl) => {
    expect(() => toEndpoint(provider(baseUrl, 'anthropic'), null)).toThrow('not an http address')
  },
)
