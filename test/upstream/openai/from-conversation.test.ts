// What a provider of chat is asked for a client of another dialect, and how its answer returns.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Conversation, Part, ResultPart, Turn } from '#domain/conversation.ts'
import type { ProviderType } from '#domain/provider.ts'
import type { Reasoning } from '#domain/thinking.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'
import { openOpenAi } from '#upstream/openai/index.ts'
import {
  call as callFor,
  chunk,
  collectFolded,
  request,
  type Socket,
  sse,
  startProvider,
} from '../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: what the provider saw, as deep as a test looks.
type Wire = any

const EMPTY: Conversation = {
  turns: [],
  tools: [],
  parallelToolCalls: true,
  sampling: {},
  stop: [],
  drawing: { withText: false },
  safetySettings: [],
  chatOnly: [],
}

let socket: Socket
/** The name of the tool that the provider calls. */
let called: string | null = null

beforeAll(async () => {
  socket = await startProvider((response) => {
    const calls = called && [{ index: 0, id: 'c', type: 'function', function: { name: called } }]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      sse(chunk({ content: 'ok', ...(calls && { tool_calls: calls }) }, {}, 'stop'), '[DONE]'),
    )
  })
})
afterAll(() => socket.stop())
beforeEach(() => {
  called = null
  socket.seen.length = 0
})

interface Asked {
  readonly type?: ProviderType
  readonly reasoning?: Reasoning
  readonly reasons?: boolean
}

async function ask(
  conversation: Partial<Conversation>,
  { type = 'openai', reasoning, reasons = false }: Asked = {},
) {
  const work = request(
    { system: 'the client’s own', stop_sequences: ['x'] },
    {
      dialect: 'messages',
      stream: true,
      conversation: () => ({ ...EMPTY, ...conversation }),
      reasoning: reasoning ?? null,
    },
  )
  const call = callFor({ request: work, type, maxOutputTokens: 9 })
  const { card, provider } = call.hop
  const hop = {
    credential: null,
    provider: { ...provider, baseUrl: socket.url },
    card: { ...card, supportedParameters: reasons ? ['reasoning_effort'] : [] },
  }
  const folded = await collectFolded(openOpenAi(hop.provider, 'k').ask({ ...call, hop }))
  return { folded, body: socket.seen.at(-1)?.body as Wire }
}

const sent = async (conversation: Partial<Conversation>, asked?: Asked): Promise<Wire> =>
  (await ask(conversation, asked)).body

const refusal = async (conversation: Partial<Conversation>): Promise<UpstreamFailure> => {
  const { folded } = await ask(conversation)
  expect(socket.seen).toEqual([])
  return folded.failure as UpstreamFailure
}

const says = (role: Turn['role'], ...parts: readonly Part[]): Turn => ({ role, path: 'p', parts })
const text = (words: string): Part => ({ type: 'text', path: 'p', text: words })
const image: Part & ResultPart['parts'][number] = {
  type: 'image',
  path: 'p',
  word: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' },
}
const calls = (id: string, more: Partial<CallPart> = {}): CallPart => ({
  type: 'call',
  path: `of ${id}`,
  argumentsPath: 'p',
  kind: 'function',
  id,
  name: 'f',
  arguments: '{"x":1}',
  ...more,
})
const result = (callId: string, words: string, more: Partial<ResultPart> = {}): ResultPart => ({
  type: 'result',
  path: 'p',
  callIdPath: 'id of the call',
  callId,
  parts: [{ type: 'text', path: 'p', text: words }],
  isError: false,
  ...more,
})
const messages = async (turns: readonly Turn[], type?: ProviderType): Promise<Wire> =>
  (await sent({ turns }, type === undefined ? {} : { type })).messages

const IMAGE_URL = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

test('the body is chat’s alone, with model, bound and usage; the answer is read as chat’s', async () => {
  const { body, folded } = await ask({ turns: [says('user', text('hi'))] })
  expect(body).toEqual({
    model: 'model-9',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 9,
    max_completion_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  })
  expect(folded).toMatchObject({ text: 'ok', failure: null })
})

describe('turns', () => {
  const turns = [
    says('system', text('first')),
    says('system', text('second')),
    says('user', text('a'), text(''), text('b')),
    says('system', text('now')),
    says('user', text('c')),
  ]

  test('W7: instructions keep their place', async () => {
    expect(await messages(turns)).toEqual([
      { role: 'system', content: 'first' },
      { role: 'system', content: 'second' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'developer', content: 'now' },
      { role: 'user', content: 'c' },
    ])
    // Templates of models take the instructions once, and then each side in its turn.
    expect(await messages(turns, 'openai-compatible')).toEqual([
      { role: 'system', content: 'first\n\nsecond' },
      { role: 'user', content: 'a\n\nb\n\n<system-reminder>\nnow\n</system-reminder>\n\nc' },
    ])
    const [, { content }] = await messages([...turns, says('user', image)], 'groq')
    expect(content.at(-1)).toEqual(IMAGE_URL)
    expect(content).toHaveLength(3)
  })

  test('to Mistral a word of the model stands between results and the user', async () => {
    const turns = [
      says('assistant', calls('a'), calls('b')),
      says('user', result('a', 'x'), result('b', 'y'), text('and')),
    ]
    const rolesFor = async (type: ProviderType) =>
      (await messages(turns, type)).map((message: Wire) => message.role).join(' ')
    expect(await rolesFor('mistral')).toBe('assistant tool tool assistant user')
    expect(await rolesFor('groq')).toBe('assistant tool tool user')
  })

  test('W5: results follow their calls in the order of the calls; images and texts come after all of them', async () => {
    expect(
      await messages([
        says('user', text('go')),
        says('assistant', text('I look.'), calls('a'), calls('b'), calls('c', { arguments: '' })),
        says('user', text('wait'), result('c', 'of c')),
        says(
          'user',
          result('b', 'broken', { isError: true }),
          result('a', 'seen', { parts: [{ type: 'text', path: 'p', text: 'seen' }, image] }),
        ),
      ]),
    ).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: ['a', 'b', 'c'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: id === 'c' ? '{}' : '{"x":1}' },
        })),
      },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { role: 'tool', tool_call_id: 'b', content: 'Error:\nbroken' },
      { role: 'tool', tool_call_id: 'c', content: 'of c' },
      { role: 'user', content: [IMAGE_URL, { type: 'text', text: 'wait' }] },
    ])
  })

  test('an id that is not plain is the same hash for the call and its result', async () => {
    const turns = [says('assistant', calls('a.b:1')), says('user', result('a.b:1', 'x'))]
    const [{ content, tool_calls }, { tool_call_id }] = await messages(turns)
    expect(content).toBeNull()
    expect(tool_call_id).toMatch(/^call_[\da-f]{32}$/)
    expect(tool_calls[0].id).toBe(tool_call_id)
  })

  test('W11: thoughts stay with the model that had them; an answer of nothing else is left out', async () => {
    const origin = { family: 'anthropic' } as const
    const thought: Part = { type: 'thinking', text: 't', signature: 's', origin }
    const turns = [says('assistant', thought), says('assistant', thought, text('x'))]
    expect(await messages(turns)).toEqual([{ role: 'assistant', content: 'x' }])
  })

  test('documents and sounds are sent as data; marks for caching to OpenRouter alone', async () => {
    const source = (mediaType: string) => ({ type: 'base64', mediaType, data: 'QQ==' }) as const
    const media = { path: 'p', word: 'w' }
    const turns = [
      says(
        'user',
        { ...media, type: 'document', title: 'a.pdf', source: source('application/pdf') },
        { ...media, type: 'audio', source: source('audio/mpeg') },
        { type: 'text', path: 'p', text: 'x', cacheMark: { ttl: '1h' } },
      ),
    ]
    const [{ content }] = await messages(turns)
    expect(content).toEqual([
      {
        type: 'file',
        file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QQ==' },
      },
      { type: 'input_audio', input_audio: { data: 'QQ==', format: 'mp3' } },
      { type: 'text', text: 'x' },
    ])
    const [other] = await messages(turns, 'openrouter')
    expect(other.content[2].cache_control).toEqual({ type: 'ephemeral' })
  })

  test('instructions between calls and results do not part them', async () => {
    const turns = [
      says('assistant', calls('a')),
      says('system', text('now')),
      says('user', result('a', 'x'), text('and')),
    ]
    expect((await messages(turns)).map((message: Wire) => message.role)).toEqual([
      ...['assistant', 'tool', 'developer', 'user'],
    ])
  })

  test('W9, W10: marks for caching go where they are known, as many as the client has set', async () => {
    const mark = { cacheMark: { ttl: '1h' } } as const
    const turns = [
      says('system', { ...text('x'), ...mark } as Part, text('y')),
      says('user', { ...text('x'), ...mark } as Part),
      says('assistant', calls('a'), calls('b')),
      says('user', result('a', 'x'), result('b', 'y', mark)),
    ]
    const marksOf = async (type: ProviderType) =>
      [
        ...JSON.stringify(await sent({ turns }, { type })).matchAll(/"cache_control":[^}]*\}/g),
      ].join()
    const three = Array(3).fill('"cache_control":{"type":"ephemeral"}').join()
    expect(await marksOf('openrouter')).toBe(three)
    expect(await marksOf('openai')).toBe('')
  })

  test('texts are one for a server that may not take a list of them', async () => {
    const turns = [says('system', text('a'), text('b')), says('user', text('c'), image)]
    expect(await messages(turns, 'openai-compatible')).toEqual([
      { role: 'system', content: 'a\n\nb' },
      { role: 'user', content: [{ type: 'text', text: 'c' }, IMAGE_URL] },
    ])
  })

  test.each<[string, Turn]>([
    ['id of the call', says('user', { ...result('', 'x'), callId: undefined } as never)],
    ['of a', says('assistant', { ...calls('a'), name: undefined } as never)],
    ['here', says('user', { type: 'unknown', path: 'here', word: 'video' })],
    ['here', says('assistant', { type: 'server-call', path: 'here', data: {} })],
    [
      'here',
      says('user', { type: 'image', path: 'here', word: 'w', source: { type: 'reference' } }),
    ],
  ])('refused before anything is sent, naming the field: %s', async (param, turn) => {
    expect(await refusal({ turns: [turn] })).toMatchObject({ kind: 'rejected', details: { param } })
  })
})

describe('tools', () => {
  const tool = (name: string, more: JsonObject = {}) => ({
    type: 'function' as const,
    path: 'p',
    namePath: 'p',
    name,
    isStrict: false,
    ...more,
  })

  test('declarations, choice, and whether several may be called', async () => {
    const schema = { $schema: 'x', type: 'object', properties: {} }
    const { tools, tool_choice, parallel_tool_calls } = await sent({
      tools: [tool('f', { description: 'does f', schema, isStrict: true }), tool('g')],
      toolChoice: { mode: 'allowed', names: ['g'], isRequired: true },
      parallelToolCalls: false,
    })
    expect(tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'f',
          description: 'does f',
          parameters: { type: 'object', properties: {} },
          strict: true,
        },
      },
      { type: 'function', function: { name: 'g' } },
    ])
    expect(tool_choice).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] },
    })
    expect(parallel_tool_calls).toBe(false)
  })

  test('a choice among no tools is none', async () => {
    expect(await sent({ toolChoice: { mode: 'auto' } })).not.toHaveProperty('tool_choice')
  })

  test('W23: a name that chat does not allow is shortened alike wherever it stands, and returns in full', async () => {
    const long = `mcp__${'x'.repeat(80)}`
    const conversation: Partial<Conversation> = {
      turns: [says('assistant', calls('a', { name: long })), says('user', result('a', 'x'))],
      tools: [tool(long), tool('get', { namespace: 'files' }), tool(`${long}2`)],
      toolChoice: { mode: 'tool', name: long },
    }
    const { tools, tool_choice, messages } = await sent(conversation)
    const [short, spaced, other] = tools.map((one: Wire) => one.function.name)
    expect(short).toMatch(/^mcp__x{50}_[\da-f]{8}$/)
    expect(other).not.toBe(short)
    expect(spaced).toBe('files__get')
    expect(tool_choice.function.name).toBe(short)
    expect(messages[0].tool_calls[0].function.name).toBe(short)
    called = short
    const { folded } = await ask(conversation)
    expect(folded.toolCalls[0]?.name).toBe(long)
  })
})

test('W13: one sequence that ends an answer is a list too', async () => {
  expect((await sent({ stop: ['x'] })).stop).toEqual(['x'])
  expect(await sent({})).not.toHaveProperty('stop')
})

test('options', async () => {
  const schema = { type: 'object' }
  const body = await sent({
    format: { type: 'schema', schema },
    sampling: { temperature: 0.5, topP: 0.9, topK: 4, seed: 3 },
    stop: ['END'],
    logprobs: { top: 2 },
    endUser: 'u',
  })
  expect(body).toMatchObject({
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    temperature: 0.5,
    top_p: 0.9,
    seed: 3,
    stop: ['END'],
    logprobs: true,
    top_logprobs: 2,
    user: 'u',
  })
  expect(body).not.toHaveProperty('top_k')
  expect(await sent({ sampling: { topK: 4 } }, { type: 'openai-compatible' })).toMatchObject({
    top_k: 4,
  })
})

test.each<[Reasoning, string]>([
  [{ effort: 'low' }, 'low'],
  [{ effort: 'max' }, 'high'],
  [{ budget: 2_000 }, 'low'],
  [{ budget: 10_000 }, 'medium'],
  [{ budget: 32_000 }, 'high'],
])(
  'a model that reasons does so by an effort, at its own temperature: %j is %s',
  async (reasoning, effort) => {
    const body = await sent({ sampling: { temperature: 0.5 } }, { reasoning, reasons: true })
    expect(body.reasoning_effort).toBe(effort)
    expect(body).not.toHaveProperty('temperature')
    socket.seen.length = 0
    // One that does not is not asked to.
    expect(await sent({}, { reasoning })).not.toHaveProperty('reasoning_effort')
  },
)
