// What a Responses request says, as a conversation for providers of other wires.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { Part, Turn } from '#domain/conversation.ts'
import { openSeals } from '#http/seals.ts'
import { sealThought, toReasoningId } from '#http/surfaces/responses/thought-items.ts'
import { toConversation } from '#http/surfaces/responses/to-conversation.ts'

const seals = openSeals(null)
const read = (body: JsonObject) => toConversation(body, seals)
const turnsOf = (...input: readonly JsonObject[]): readonly Turn[] => read({ input }).turns

/** The turns in short: `user a`, `assistant call f {"x":1}`. */
const told = (turns: readonly Turn[]): readonly string[] =>
  turns.map(({ role, parts }) => [role, ...parts.map(short)].join(' '))

function short(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'call':
      return `call:${part.id} ${part.name} ${part.arguments}`
    case 'result':
      return `result:${part.callId} ${part.parts.map(short).join('+')}${part.isError ? '!' : ''}`
    case 'thinking':
      return `thinking:${part.text}`
    default:
      return part.type
  }
}

const user = (content: unknown) => ({ role: 'user', content })
const says = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const calls = (call_id: string, more: JsonObject = {}) => ({
  type: 'function_call',
  call_id,
  name: 'f',
  arguments: '{}',
  ...more,
})
const result = (call_id: string, output: unknown = 'ok') => ({
  type: 'function_call_output',
  call_id,
  output,
})

describe('input', () => {
  test('is a text, easy messages or items, behind the instructions', () => {
    expect(told(read({ instructions: 'Brief.', input: 'hi' }).turns)).toEqual([
      'system Brief.',
      'user hi',
    ])
    expect(
      told(
        turnsOf(
          { role: 'developer', content: 'a' },
          user('b'),
          { role: 'assistant', content: 'c' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'd' }] },
          { role: 'system', content: 'e' },
        ),
      ),
    ).toEqual(['system a', 'user b', 'assistant c', 'user d', 'system e'])
  })

  test('an answer is one turn, however many items it has; the next answer is another', () => {
    expect(
      told(
        turnsOf(says('I look.'), calls('1'), calls('2'), result('2'), result('1'), says('Done.')),
      ),
    ).toEqual([
      'assistant I look. call:1 f {} call:2 f {}',
      'user result:2 ok',
      'user result:1 ok',
      'assistant Done.',
    ])
    expect(told(turnsOf(says('one'), says('two')))).toEqual(['assistant one', 'assistant two'])
  })

  test('what stands between a call and its result comes after it', () => {
    expect(
      told(
        turnsOf(
          calls('1'),
          calls('2'),
          { role: 'developer', content: 'x' },
          result('1'),
          user('y'),
          result('2'),
        ),
      ),
    ).toEqual([
      'assistant call:1 f {} call:2 f {}',
      'user result:1 ok',
      'user result:2 ok',
      'system x',
      'user y',
    ])
  })

  test('W29: a result is a text or a list of parts, whose images stay', () => {
    const [, turn] = turnsOf(
      calls('1'),
      result('1', [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ]),
    )
    expect(turn?.parts[0]).toMatchObject({
      type: 'result',
      callId: '1',
      parts: [
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      ],
    })
    expect(told(turnsOf(calls('1'), result('1', { a: 1 }))).at(-1)).toBe('user result:1 {"a":1}')
  })

  test('W29: reasoning is never a text of the answer', () => {
    const items = [
      {
        type: 'reasoning',
        id: 'rs_0a1',
        summary: [{ type: 'summary_text', text: 'secret plan' }],
        content: [{ type: 'reasoning_text', text: 'secret plan' }],
        encrypted_content: 'gAAAA',
      },
      { type: 'reasoning', id: 'rs_0a2', summary: [] },
      says('Yes.'),
    ]
    expect(told(turnsOf(...items))).toEqual(['assistant Yes.'])
    expect(JSON.stringify(turnsOf(...items))).not.toContain('secret')
  })

  test('images, files and sounds are parts', () => {
    const [turn] = turnsOf(
      user([
        { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'low' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' },
        { type: 'input_file', filename: 'b.txt', file_data: 'AA' },
        { type: 'input_file', file_url: 'https://a.example/c.pdf' },
        { type: 'input_audio', input_audio: { data: 'AA', format: 'WAV' } },
        { type: 'odd' },
      ]),
    )
    expect(turn?.parts).toMatchObject([
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'document', title: 'a.pdf', source: { mediaType: 'application/pdf', data: 'AA' } },
      { type: 'document', title: 'b.txt', source: { mediaType: 'text/plain', data: 'AA' } },
      { type: 'document', source: { type: 'url', url: 'https://a.example/c.pdf' } },
      { type: 'audio', source: { mediaType: 'audio/wav', data: 'AA' } },
      { type: 'unknown', word: 'odd', path: 'input[0].content[5]' },
    ])
  })

  test('what a vendor’s search did is left out; what would be lost is named', () => {
    expect(
      told(turnsOf({ type: 'web_search_call', id: 'ws_1' }, { type: 'mcp_list_tools' }, says('a'))),
    ).toEqual(['assistant a'])
    expect(turnsOf({ type: 'compaction', encrypted_content: 'x' })[0]?.parts).toEqual([
      { type: 'unknown', path: 'input[0]', word: 'compaction' },
    ])
  })
})

describe('tools', () => {
  const tools = [
    { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
    {
      type: 'custom',
      name: 'patch',
      description: 'Edits.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    {
      type: 'namespace',
      name: 'ns',
      tools: [
        { type: 'function', name: 'f' },
        { type: 'custom', name: 'c' },
      ],
    },
    { type: 'local_shell' },
    { type: 'shell' },
    { type: 'apply_patch' },
  ]

  test('W27: all are functions; those of a namespace have its name, and a grammar is told in words', () => {
    const { tools: offered } = read({ input: 'hi', tools })
    expect(offered.map((tool) => 'name' in tool && tool.name)).toEqual([
      'f',
      'patch',
      'ns__f',
      'ns__c',
      'local_shell',
      'shell',
      'apply_patch',
    ])
    expect(offered[0]).toMatchObject({ description: 'd', isStrict: true, path: 'tools[0]' })
    expect(offered[1]).toMatchObject({
      type: 'function',
      description: 'Edits.\n\nThe input must match this grammar (lark):\nstart: "x"',
      schema: { properties: { input: { type: 'string' } }, required: ['input'] },
    })
    expect(offered[2]).toMatchObject({ path: 'tools[2].tools[0]' })
  })

  test('W27: earlier calls of each kind are calls of its function, and their outputs results', () => {
    expect(
      told(
        turnsOf(
          { type: 'custom_tool_call', call_id: '1', name: 'patch', input: 'a "b"\n' },
          calls('2', { namespace: 'ns' }),
          {
            type: 'local_shell_call',
            call_id: '3',
            action: { type: 'exec', command: ['ls'], env: {} },
          },
          { type: 'shell_call', call_id: '4', action: { commands: ['ls'] } },
          {
            type: 'apply_patch_call',
            call_id: '5',
            operation: { type: 'delete_file', path: 'a' },
          },
          { type: 'custom_tool_call_output', call_id: '1', output: 'done' },
          { type: 'local_shell_call_output', id: '3', output: 'out' },
          { type: 'shell_call_output', call_id: '4', output: [{ stdout: 'x' }] },
          { type: 'apply_patch_call_output', call_id: '5', status: 'failed', output: 'no' },
        ),
      ),
    ).toEqual([
      'assistant call:1 patch {"input":"a \\"b\\"\\n"} call:2 ns__f {} ' +
        'call:3 local_shell {"command":["ls"],"env":{}} call:4 shell {"commands":["ls"]} ' +
        'call:5 apply_patch {"type":"delete_file","path":"a"}',
      'user result:1 done',
      'user result:3 out',
      'user result:4 [{"stdout":"x"}]',
      'user result:5 no!',
    ])
  })

  test.each([
    ['auto', { mode: 'auto' }],
    [
      { type: 'function', name: 'f' },
      { mode: 'tool', name: 'f' },
    ],
    [
      { type: 'custom', name: 'c', namespace: 'ns' },
      { mode: 'tool', name: 'ns__c' },
    ],
    [{ type: 'apply_patch' }, { mode: 'tool', name: 'apply_patch' }],
    [
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'f' }, { type: 'shell' }],
      },
      { mode: 'allowed', names: ['f', 'shell'], isRequired: true },
    ],
    [{ type: 'file_search' }, { mode: 'unknown' }],
  ])('the choice %j', (choice, expected) => {
    expect(read({ input: 'hi', tools, tool_choice: choice }).toolChoice).toEqual(expected)
  })
})

test('the other fields that mean something elsewhere', () => {
  const conversation = read({
    input: 'hi',
    text: {
      format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true },
      verbosity: 'low',
    },
    temperature: 0.5,
    top_p: 0.9,
    parallel_tool_calls: false,
    safety_identifier: 'u',
    prompt_cache_key: 'k',
    include: ['message.output_text.logprobs'],
    top_logprobs: 3,
    client_metadata: { a: 'b' },
    metadata: { a: 'b' },
    truncation: 'disabled',
    stream_options: { include_obfuscation: false },
  })
  const { turns: _turns, ...others } = conversation
  expect(others).toEqual({
    tools: [],
    parallelToolCalls: false,
    format: { type: 'schema', name: 'a', schema: { type: 'object' }, isStrict: true },
    sampling: { temperature: 0.5, topP: 0.9 },
    stop: [],
    logprobs: { top: 3 },
    drawing: { withText: false },
    endUser: 'u',
    cacheKey: 'k',
    safetySettings: [],
    chatOnly: [],
  })
  expect(read({ input: 'hi', text: { format: { type: 'text' } } })).not.toHaveProperty('format')
})

describe('a thought', () => {
  const thinker = { provider: 'anthropic', model: 'anthropic/claude' }
  const origin = { family: 'anthropic' } as const
  const id = toReasoningId(thinker, 'x_0')
  const sealed = (by = seals) =>
    sealThought({ type: 'thinking', text: 'hm', signature: 'sig', origin }, thinker, id, by)
  const item = (more: JsonObject = {}) => ({
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: 'what a client made of it' }],
    encrypted_content: sealed(),
    ...more,
  })

  test('comes back as it was, with whose it is', () => {
    expect(turnsOf(item(), calls('1'))[0]?.parts[0]).toEqual({
      type: 'thinking',
      text: 'hm',
      signature: 'sig',
      origin: { family: 'anthropic', ...thinker },
    })
  })

  test('W26: is left out where another gateway sealed it, or it was changed, moved or renamed', () => {
    const body = sealed()
    const changed = body.slice(0, -4) + (body.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    for (const more of [
      { encrypted_content: sealed(openSeals(new Uint8Array(32))) },
      { encrypted_content: changed },
      { encrypted_content: '' },
      { encrypted_content: 'gAAAA' },
      { id: toReasoningId(thinker, 'x_1') },
      { id: 'rs_0a1' },
      { id: null },
    ]) {
      expect(told(turnsOf(item(more), says('a')))).toEqual(['assistant a'])
    }
  })

  test('is opened after a restart, by the same master key alone', () => {
    const key = new Uint8Array(32).fill(7)
    const by = sealed(openSeals(key))
    const open = (master: Uint8Array) =>
      toConversation({ input: [item({ encrypted_content: by }), says('a')] }, openSeals(master))
    expect(told(open(key).turns)).toEqual(['assistant thinking:hm a'])
    expect(told(open(new Uint8Array(32)).turns)).toEqual(['assistant a'])
  })

  test('a signature of a call goes back to its call, wherever its item stands', () => {
    const signature = (callId: string, n: number) => {
      const named = toReasoningId(thinker, `y_${n}`)
      return {
        type: 'reasoning',
        id: named,
        summary: [],
        encrypted_content: sealThought(
          { type: 'call-signature', callId, data: `s${callId}`, origin: { family: 'gemini' } },
          thinker,
          named,
          seals,
        ),
      }
    }
    const [turn] = turnsOf(signature('2', 0), calls('1'), calls('2'), signature('3', 1))
    expect(turn?.parts).toHaveLength(2)
    expect(turn?.parts[0]).not.toHaveProperty('signature')
    expect(turn?.parts[1]).toMatchObject({
      signature: { data: 's2', origin: { family: 'gemini', ...thinker } },
    })
  })
})
