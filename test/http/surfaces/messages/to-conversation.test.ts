// A Messages request as a conversation: everything that providers of other wires are told of it, in order, with the client's paths.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Part } from '#domain/conversation.ts'
import { readReasoning, showsThinking } from '#http/surfaces/messages/read-reasoning.ts'
import { toConversation } from '#http/surfaces/messages/to-conversation.ts'

const read = (body: JsonObject, endUser: string | null = null): Conversation =>
  toConversation.call({ body, endUser })
const partsOf = (...content: readonly JsonObject[]): readonly Part[] =>
  read({ messages: [{ role: 'user', content }] }).turns.flatMap(({ parts }) => parts)

test('a request that says nothing', () => {
  expect(read({ tool_choice: null, stop_sequences: null, system: null, tools: null })).toEqual({
    turns: [],
    tools: [],
    parallelToolCalls: true,
    sampling: {},
    stop: [],
    drawing: { withText: false },
    safetySettings: [],
    chatOnly: [],
  })
})

describe('turns', () => {
  test('the system prompt comes first, in its blocks, with their marks and without empty ones', () => {
    const system = [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'text', text: '' },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
    ]
    expect(read({ system, messages: [{ role: 'user', content: 'hi' }] }).turns).toEqual([
      {
        role: 'system',
        path: 'system',
        parts: [
          { type: 'text', path: 'system[0]', text: 'a', cacheMark: { ttl: '1h' } },
          { type: 'text', path: 'system[2]', text: 'b', cacheMark: { ttl: '5m' } },
        ],
      },
      {
        role: 'user',
        path: 'messages[0].content',
        parts: [{ type: 'text', path: 'messages[0].content', text: 'hi' }],
      },
    ])
    expect(read({ system: 'x' }).turns[0]?.parts).toEqual([
      { type: 'text', path: 'system', text: 'x' },
    ])
  })

  test('W8: the line that changes with every request of Claude Code is not passed on', () => {
    const line = 'x-anthropic-billing-header: cc_version=2.1.197.c40; cc_entrypoint=sdk-cli;'
    const block = { type: 'text', text: line }
    const identity = { type: 'text', text: 'You are an agent.' }
    const said = (system: unknown) =>
      read({ system }).turns.flatMap(({ parts }) =>
        parts.map((part) => part.type === 'text' && part.text),
      )
    expect(said([block, identity])).toEqual(['You are an agent.'])
    expect(said([block])).toEqual([])
    expect(said(`${line}\nYou are an agent.`)).toEqual(['You are an agent.'])
    // Nowhere else does it stand for itself.
    expect(said([identity, block])).toEqual(['You are an agent.', line])
  })

  test('W7: instructions in the middle keep their place', () => {
    const { turns } = read({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
        { role: 'assistant', content: [{ type: 'text', text: 'c' }] },
      ],
    })
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system', 'assistant'])
  })

  test('calls and results, with what is in them', () => {
    const image = { type: 'base64', media_type: 'image/PNG', data: 'AAAA' }
    const { turns } = read({
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { n: 1 } }],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              is_error: true,
              cache_control: { type: 'ephemeral' },
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: image },
              ],
            },
            { type: 'tool_result', tool_use_id: 'toolu_2' },
          ],
        },
      ],
    })
    const [call] = turns[0]?.parts ?? []
    expect(call).toEqual({
      type: 'call',
      path: 'messages[0].content[0]',
      argumentsPath: 'messages[0].content[0].input',
      kind: 'function',
      id: 'toolu_1',
      name: 'f',
      arguments: '{"n":1}',
    })
    const at = 'messages[1].content[0]'
    expect(turns[1]?.parts).toEqual([
      {
        type: 'result',
        path: at,
        callIdPath: `${at}.tool_use_id`,
        callId: 'toolu_1',
        isError: true,
        cacheMark: { ttl: '5m' },
        parts: [
          { type: 'text', path: `${at}.content[0]`, text: 'no' },
          {
            type: 'image',
            path: `${at}.content[1].source`,
            word: 'image',
            source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' },
          },
        ],
      },
      expect.objectContaining({ callId: 'toolu_2', parts: [], isError: false }),
    ])
  })

  test('W11: thoughts say whose they are, so that no other model gets them', () => {
    const parts = read({
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'thinking', thinking: 'lost', signature: '' },
            { type: 'redacted_thinking', data: 'x' },
          ],
        },
      ],
    }).turns.flatMap((turn) => turn.parts)
    const origin = { family: 'anthropic' }
    expect(parts).toEqual([
      { type: 'thinking', text: 'hm', signature: 'sig', origin },
      { type: 'thinking', text: 'lost', signature: '', origin },
      { type: 'redacted', data: 'x', origin },
    ])
  })

  test('texts of documents and of searches are texts, under their titles; a PDF is a file', () => {
    const texts = partsOf(
      { type: 'document', title: 'T', context: 'C', source: { type: 'text', data: 'd' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'e' }] } },
      { type: 'document', source: { type: 'content', content: 'f' } },
      { type: 'search_result', title: 'S', source: 'u', content: [{ type: 'text', text: 'g' }] },
      { type: 'tool_reference', tool_name: 'h' },
    )
    expect(texts.map((part) => part.type === 'text' && part.text)).toEqual([
      ...['T\nC', 'd', 'e', 'f', 'S\nu', 'g', 'h'],
    ])
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }
    expect(partsOf({ type: 'document', title: 'a.pdf', source })).toEqual([
      {
        type: 'document',
        path: 'messages[0].content[0].source',
        word: 'document',
        title: 'a.pdf',
        source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBE' },
      },
    ])
    expect(partsOf({ type: 'image', source: { type: 'url', url: 'https://a.test/b' } })).toEqual([
      expect.objectContaining({ source: { type: 'url', url: 'https://a.test/b' } }),
    ])
  })

  test.each([
    [{ type: 'container_upload', file_id: 'x' }, 'unknown'],
    [{ type: 'text' }, 'unknown'],
    [{ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }, 'server-call'],
    [{ type: 'web_search_tool_result', tool_use_id: 'a', content: [] }, 'server-result'],
  ])('%j is named and not lost', (block, type) => {
    expect(partsOf(block)).toEqual([
      expect.objectContaining({ type, path: 'messages[0].content[0]' }),
    ])
  })

  test.each([
    [{ role: 'tool', content: 'x' }, 'messages[0].role'],
    [{ role: 'user', content: 7 }, 'messages[0].content'],
    [{ role: 'user' }, 'messages[0].content'],
  ])('what is no message is named: %j', (message, path) => {
    expect(read({ messages: [message] }).turns[0]?.parts).toEqual([
      expect.objectContaining({ type: 'unknown', path }),
    ])
  })
})

describe('tools', () => {
  test('W23: their schemas, without the version of the language', () => {
    const closed = { type: 'object', properties: {}, additionalProperties: false }
    const schema = { $schema: 'draft', ...closed }
    const { tools } = read({
      tools: [
        { name: 'f', description: 'does f', input_schema: schema, strict: true },
        { type: 'custom', name: 'g', cache_control: { type: 'ephemeral' } },
        { type: 'bash_20250124', name: 'bash' },
      ],
    })
    const [path, namePath] = ['tools[0]', 'tools[0].name']
    expect(tools).toEqual([
      {
        ...{ type: 'function', path, namePath, name: 'f', description: 'does f', isStrict: true },
        schema: closed,
      },
      {
        ...{ type: 'function', path: 'tools[1]', namePath: 'tools[1].name', name: 'g' },
        isStrict: false,
        cacheMark: { ttl: '5m' },
      },
      { type: 'unknown', path: 'tools[2]', word: 'bash_20250124' },
    ])
  })

  test('W23: a schema to which other vendors hold no model is not said to be strict', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      additionalProperties: false,
    }
    const strict = (schema: JsonObject) => {
      const { tools, format } = read({
        tools: [{ name: 'f', input_schema: schema, strict: true }],
        output_config: { format: { type: 'json_schema', schema } },
      })
      const [tool] = tools
      return [
        tool?.type === 'function' && tool.isStrict,
        format?.type === 'schema' && format.isStrict,
      ]
    }
    expect(strict({ ...closed, required: ['a'] })).toEqual([true, true])
    expect(strict(closed)).toEqual([false, false])
    expect(strict({ type: 'object' })).toEqual([false, false])
    const inside = { ...closed, required: ['a'], properties: { a: { type: 'object' } } }
    expect(strict(inside)).toEqual([false, false])
  })

  test.each([
    [{ type: 'auto' }, { mode: 'auto' }],
    [{ type: 'any' }, { mode: 'required' }],
    [{ type: 'none' }, { mode: 'none' }],
    [
      { type: 'tool', name: 'f' },
      { mode: 'tool', name: 'f' },
    ],
    [{ type: 'tool' }, { mode: 'unknown' }],
    [{ type: 'some' }, { mode: 'unknown' }],
  ])('the choice %j', (tool_choice, toolChoice) => {
    expect(read({ tool_choice })).toMatchObject({ toolChoice, parallelToolCalls: true })
    const alone = { ...tool_choice, disable_parallel_tool_use: true }
    expect(read({ tool_choice: alone }).parallelToolCalls).toBe(false)
  })
})

test('options', () => {
  const schema = { type: 'object' }
  expect(
    read(
      {
        temperature: 1,
        top_p: 0.5,
        top_k: 3,
        stop_sequences: ['x', ''],
        output_config: { effort: 'low', format: { type: 'json_schema', schema } },
        cache_control: { type: 'ephemeral' },
        context_management: { edits: [] },
        diagnostics: {},
        speed: 'standard',
      },
      'reader',
    ),
  ).toMatchObject({
    sampling: { temperature: 1, topP: 0.5, topK: 3 },
    stop: ['x'],
    format: { type: 'schema', schema, isStrict: false },
    cacheMark: { ttl: '5m' },
    endUser: 'reader',
  })
  const older = { output_format: { type: 'json_schema', schema } }
  expect(read(older).format).toEqual({ type: 'schema', schema, isStrict: false })
  expect(read({ output_format: { type: 'xml' } }).format).toEqual({ type: 'unknown' })
})

test.each([
  [{}, null, false],
  [{ output_config: { effort: 'max' } }, { effort: 'max' }, false],
  [{ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, { effort: 'none' }, false],
  [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, { budget: 2_000 }, true],
  [{ thinking: { type: 'adaptive' } }, { effort: 'medium' }, true],
  [{ thinking: { type: 'between_tools' } }, { effort: 'medium' }, true],
  [
    { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
    { effort: 'high' },
    false,
  ],
])('thinking: %j', (body, wanted, isShown) => {
  const reasoning = readReasoning(body)
  const { native, ...others } = reasoning ?? {}
  expect(reasoning && others).toEqual(wanted)
  expect(native ?? {}).toEqual((body as JsonObject)['thinking'] ?? {})
  expect(showsThinking({ reasoning })).toBe(isShown)
})
