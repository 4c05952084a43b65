// What a provider of the Responses API is asked for a client of another dialect, and how its answer returns.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { systemClock } from '#domain/clock.ts'
import type { ProviderType } from '#domain/provider.ts'
import { Meter } from '#domain/walk/meter.ts'
import type { Generate } from '#domain/work.ts'
import { aCard, aRequest } from '#test/support/nouns.ts'
import { openOpenAi } from '#upstream/openai/index.ts'
import { startNativeStream, startStream } from '#upstream/openai/responses/from-stream.ts'
import { createProbe } from '#upstream/probe.ts'
import {
  call as callFor,
  collectFolded,
  fold,
  request,
  type Socket,
  startProvider,
} from '../../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: what the provider saw, as deep as a test looks.
type Wire = any

const DONE = {
  id: 'resp_1',
  status: 'completed',
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }],
  usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
}
const refusal = (error: JsonObject) => ({ error })

let socket: Socket
/** In turn; the last one for all that follow. */
let answers: readonly JsonObject[] = [DONE]

beforeAll(async () => {
  socket = await startProvider((response, n) => {
    const answer = answers[Math.min(n - before, answers.length - 1)] ?? DONE
    response.writeHead('error' in answer ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
})
let before = 0
afterAll(() => socket.stop())
beforeEach(() => {
  answers = [DONE]
  before = socket.seen.length
})

interface Asked {
  readonly type?: ProviderType
  readonly model?: string
  readonly more?: Partial<Generate>
}

async function ask(
  body: JsonObject,
  { type = 'openai', model = 'gpt-4.1', more = {} }: Asked = {},
) {
  const call = callFor({ request: request(body, more), type, upstreamName: model })
  const { card, provider } = call.hop
  const hop = {
    credential: null,
    provider: { ...provider, baseUrl: socket.url },
    card: { ...card, wires: ['responses'] as const },
  }
  const folded = await collectFolded(openOpenAi(hop.provider, 'k').ask({ ...call, hop }))
  const seen = socket.seen.slice(before)
  return { folded, seen, body: seen[0]?.body as Wire }
}
const sent = async (body: JsonObject, asked?: Asked): Promise<Wire> => (await ask(body, asked)).body
const said = (...messages: readonly JsonObject[]) => ({ messages })

test('the body is this API’s alone, nothing of it is kept there, and the answer is read', async () => {
  const { body, seen, folded } = await ask(
    { ...said({ role: 'user', content: 'hi' }), max_tokens: 9, stream_options: {}, provider: {} },
    { model: 'm', more: { maxOutputTokens: 9, headers: { 'anthropic-version': 'x' } } },
  )
  expect(seen[0]?.path).toBe('/responses')
  expect(seen[0]?.headers).not.toHaveProperty('anthropic-version')
  expect(body).toEqual({
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    model: 'm',
    store: false,
    max_output_tokens: 9,
  })
  expect(folded).toMatchObject({
    text: 'ok',
    failure: null,
    finish: [{ choice: 0, reason: 'stop', native: 'completed' }],
    usage: { inputTokens: 3, outputTokens: 1 },
  })
})

test('turns: results follow their calls in the order of the calls', async () => {
  const call = (id: string, name = 'f') => ({
    id,
    type: 'function',
    function: { name, arguments: id === 'c' ? '' : '{"x":1}' },
  })
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } }
  const custom = { id: 'd', type: 'custom', custom: { name: 'patch', input: 'raw' } }
  const { input } = await sent(
    said(
      { role: 'system', content: 'first' },
      { role: 'user', content: [{ type: 'text', text: 'look' }, image] },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('a'), call('b.1'), call('c'), custom],
      },
      { role: 'tool', tool_call_id: 'd', content: 'patched' },
      { role: 'tool', tool_call_id: 'b.1', content: 'of b' },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'of a' }] },
      { role: 'tool', tool_call_id: 'c', content: 'of c' },
      { role: 'user', content: 'go' },
    ),
  )
  const id = expect.stringMatching(/^call_[\da-f]{32}$/)
  expect(input).toEqual([
    { role: 'system', content: [{ type: 'input_text', text: 'first' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'look' },
        { type: 'input_image', detail: 'low', image_url: 'data:image/png;base64,AA' },
      ],
    },
    { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
    { type: 'function_call', call_id: id, name: 'f', arguments: '{"x":1}' },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'd', name: 'patch', input: 'raw' },
    { type: 'function_call_output', call_id: 'a', output: 'of a' },
    { type: 'function_call_output', call_id: id, output: 'of b' },
    { type: 'function_call_output', call_id: 'c', output: 'of c' },
    { type: 'custom_tool_call_output', call_id: 'd', output: 'patched' },
    { role: 'user', content: [{ type: 'input_text', text: 'go' }] },
  ])
  expect(input[4].call_id).toBe(input[8].call_id)
})

test('tools, choices and formats; a function is not held to a schema unasked', async () => {
  const fn = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
  const grammar = { syntax: 'lark', definition: 'start: "x"' }
  const body = await sent({
    tools: [
      fn,
      { type: 'function', function: { name: 'g', strict: true, description: 'does g' } },
      { type: 'custom', custom: { name: 'p', format: { type: 'grammar', grammar } } },
    ],
    tool_choice: { type: 'custom', custom: { name: 'p' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {}, strict: true } },
    verbosity: 'low',
    temperature: 0.5,
    logprobs: true,
    top_logprobs: 2,
    user: 'u',
    prompt_cache_key: 'k',
    service_tier: 'flex',
    seed: 3,
    web_search_options: { search_context_size: 'low' },
  })
  expect(body).toMatchObject({
    tools: [
      { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false },
      { type: 'function', name: 'g', description: 'does g', strict: true },
      { type: 'custom', name: 'p', format: { type: 'grammar', ...grammar } },
      { type: 'web_search', search_context_size: 'low' },
    ],
    tool_choice: { type: 'custom', name: 'p' },
    parallel_tool_calls: false,
    text: {
      format: { type: 'json_schema', name: 'x', schema: {}, strict: true },
      verbosity: 'low',
    },
    temperature: 0.5,
    include: ['message.output_text.logprobs'],
    top_logprobs: 2,
    user: 'u',
    prompt_cache_key: 'k',
    service_tier: 'flex',
  })
  expect(body).not.toHaveProperty('seed')
})

test.each<[JsonObject, string, Partial<Generate>?]>([
  [{ stop: 'END' }, 'stop'],
  [{ n: 2 }, 'n', { choices: 2 }],
  [{ functions: [] }, 'functions'],
  [{ logit_bias: { 5: 1 } }, 'logit_bias'],
  [{ modalities: ['image'] }, 'modalities', { wantsImages: true, image: {} as never }],
])('%j is refused before it is sent', async (body, param, more = {}) => {
  // An address of the images API would draw.
  const { folded, seen } = await ask(body, { type: 'openrouter', more })
  expect(folded.failure).toMatchObject({ kind: 'rejected', details: { param } })
  expect(seen).toEqual([])
})

describe('a model that reasons', () => {
  const model = 'gpt-5-pro'

  test('is asked for its encrypted reasoning, and for a summary where the client speaks of thinking', async () => {
    const body = await sent({ reasoning_effort: 'xhigh', temperature: 0.5 }, { model })
    expect(body).toMatchObject({
      reasoning: { effort: 'xhigh', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    })
    expect(body).not.toHaveProperty('temperature')
    before = socket.seen.length
    expect(await sent({}, { model })).not.toHaveProperty('reasoning')
    before = socket.seen.length
    expect((await sent({ reasoning_effort: 'none' }, { model })).reasoning).toEqual({
      effort: 'none',
    })
    before = socket.seen.length
    // Others have other words.
    const more: Partial<Generate> = { dialect: 'messages', reasoning: { effort: 'max' } }
    expect((await sent({}, { model, more })).reasoning.effort).toBe('high')
  })

  test('whose account may not see summaries is asked without one', async () => {
    answers = [
      refusal({
        message: 'Your organization must be verified to generate reasoning summaries.',
        param: 'reasoning.summary',
        code: 'unsupported_value',
      }),
      DONE,
    ]
    const { seen, folded } = await ask({ reasoning_effort: 'low' }, { model })
    expect(seen.map(({ body }) => (body as Wire).reasoning)).toEqual([
      { effort: 'low', summary: 'auto' },
      { effort: 'low' },
    ])
    expect(folded.text).toBe('ok')
  })

  const detail = {
    type: 'reasoning.encrypted',
    data: 'gAAA',
    id: 'rs_1',
    format: 'openai-responses-v1',
    index: 0,
  }
  const history = (reasoning_details: readonly JsonObject[]) =>
    said(
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', reasoning_details },
      { role: 'user', content: 'c' },
    )
  const types = ({ input }: Wire) => input.map(({ type, role }: Wire) => type ?? role)

  test('gets its own reasoning back, before what it led to, and nobody else’s', async () => {
    const foreign = { ...detail, format: 'google-gemini-v1' }
    const anthropic = {
      type: 'reasoning.text',
      text: 't',
      signature: 's',
      format: 'anthropic-claude-v1',
    }
    const { input } = await sent(history([detail, foreign, anthropic]), { model })
    expect(types({ input })).toEqual(['user', 'reasoning', 'assistant', 'user'])
    expect(input[1]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: 'gAAA',
    })
  })

  test('W26: whose provider cannot decrypt it is asked once more without it', async () => {
    const code = 'invalid_encrypted_content'
    answers = [refusal({ code, message: 'rs_1 could not be verified' }), DONE]
    const { seen, folded } = await ask(history([detail]), { model })
    expect(seen.map(({ body }) => types(body))).toEqual([
      ['user', 'reasoning', 'assistant', 'user'],
      ['user', 'assistant', 'user'],
    ])
    expect(folded.text).toBe('ok')
  })

  test('does not get the reasoning of another provider, nor one that nothing follows', async () => {
    const part = { type: 'reasoning', id: 'rs_1', summary: ['s'], encrypted: 'g' } as const
    const turns = (provider: string, ...parts: readonly unknown[]) =>
      ({
        conversation: () => ({
          ...request().conversation.call({ body: {} }),
          turns: [
            {
              role: 'assistant',
              path: 'p',
              parts: [{ ...part, origin: { family: 'openai', provider } }, ...parts],
            },
          ],
        }),
      }) as never
    const text = { type: 'text', path: 'p', text: 'x' }
    const inputs = []
    for (const more of [turns('acme', text), turns('other', text), turns('acme')]) {
      before = socket.seen.length
      inputs.push(types(await sent({}, { model, more })))
    }
    expect(inputs).toEqual([['reasoning', 'assistant'], ['assistant'], []])
  })
})

describe('a model whose card does not say that it answers in this API alone', () => {
  const refuses = (message: string) => refusal({ message, type: 'invalid_request_error' })
  const CHAT = {
    choices: [{ index: 0, message: { content: 'in chat' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  }
  const paths = () => socket.seen.slice(before).map(({ path }) => path)
  const upstreamFor = (
    upstreamName: string,
    wires: readonly ('chat' | 'responses')[] | null = null,
  ) => {
    const { card, provider } = callFor({ type: 'openai', upstreamName }).hop
    const hop = {
      credential: null,
      provider: { ...provider, baseUrl: socket.url },
      card: { ...card, wires },
    }
    const upstream = openOpenAi(hop.provider, 'k')
    return (more: Partial<Generate> = {}) => {
      const asked = request({ max_tokens: 9 }, { maxOutputTokens: 9, ...more })
      return collectFolded(upstream.ask({ ...callFor({ request: asked, type: 'openai' }), hop }))
    }
  }

  test('is asked in it once it has said so, within the same attempt, and at once from then on', async () => {
    answers = [
      refuses('This model is only supported in v1/responses and not in v1/chat/completions.'),
      DONE,
    ]
    const again = upstreamFor('gpt-9-codex')
    expect((await again()).text).toBe('ok')
    expect((await again()).text).toBe('ok')
    expect(paths()).toEqual(['/chat/completions', '/responses', '/responses'])
    expect(socket.seen.at(-1)?.body).toMatchObject({ max_output_tokens: 9, store: false })
  })

  test('or that it does not take this request elsewhere, which says nothing of the next', async () => {
    answers = [
      refuses(
        'Function tools with reasoning_effort are not supported. Please use /v1/responses instead.',
      ),
      DONE,
      CHAT,
    ]
    const again = upstreamFor('gpt-9')
    expect([(await again()).text, (await again()).text]).toEqual(['ok', 'in chat'])
    expect(paths()).toEqual(['/chat/completions', '/responses', '/chat/completions'])
  })

  test('for a client of another dialect too, in words that it takes', async () => {
    answers = [refuses('only supported in v1/responses'), DONE]
    const turn = {
      role: 'user',
      path: 'p',
      parts: [{ type: 'text', path: 'p', text: 'of a turn' }],
    }
    const conversation = () => ({
      ...request().conversation.call({ body: {} }),
      turns: [turn] as never,
    })
    const more: Partial<Generate> = {
      dialect: 'messages',
      conversation,
      reasoning: { effort: 'max' },
    }
    expect((await upstreamFor('gpt-9-codex')(more)).text).toBe('ok')
    expect(socket.seen.at(-1)?.body).toMatchObject({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'of a turn' }] }],
    })
    expect(JSON.stringify(socket.seen.at(-1)?.body)).not.toContain('"max"')
  })

  test('unless its card says that it has no such wire', async () => {
    answers = [refuses('only supported in v1/responses'), DONE]
    const { failure } = await upstreamFor('gpt-9-codex', ['chat'])()
    expect(failure).toMatchObject({ kind: 'rejected' })
    expect(paths()).toEqual(['/chat/completions'])
  })
})

test('a provider is tested with the least bound that this API takes', async () => {
  const { card, provider } = callFor({ type: 'openai', upstreamName: 'gpt-5-pro' }).hop
  const probe = createProbe(systemClock)
  const at = { ...provider, baseUrl: socket.url }
  for (const wires of [['responses'], null] as const)
    await probe.askModel(at, 'k', { ...card, wires })
  const [inResponses, inChat] = socket.seen.slice(before).map(({ body }) => body as Wire)
  expect(inResponses).toMatchObject({ max_output_tokens: 16 })
  expect(inChat).toMatchObject({ max_tokens: 1, max_completion_tokens: 1 })
})

test('a client that leaves in the middle of a stream pays the searches that were seen', () => {
  const need = { kind: 'server-tool', tool: 'web_search', mostCalls: 5 } as const
  const asked = aRequest({ extras: [{ param: 'tools', what: 'searches', need }] })
  const search = { type: 'web_search_call', action: { type: 'search' } }
  const events: readonly JsonObject[] = [
    { type: 'response.output_item.done', output_index: 0, item: search },
    { type: 'response.output_item.done', output_index: 1, item: search },
    { type: 'response.output_text.delta', output_index: 2, delta: 'a word' },
  ]
  const stream = startNativeStream((text) => text)
  const batch: ChatEvent[] = []
  stream.take(
    events.map((one) => ({ event: undefined, data: JSON.stringify(one), text: '' })),
    batch,
  )
  const meter = new Meter(asked, aCard(), Number.POSITIVE_INFINITY)
  meter.note(batch)
  const { usage, source } = meter.readAfterDisconnect()
  expect(usage).toMatchObject({ inputTokens: 25, serverCalls: { web_search: 2 } })
  expect(source).toBe('estimated')
})

describe('two calls of a stream are two, each with an id', () => {
  const begun = { type: 'response.output_item.added' }
  const done = { type: 'response.output_item.done' }
  const piece = { type: 'response.function_call_arguments.delta' }
  const item = (id: string | undefined, name: string, more: JsonObject = {}) => ({
    item: { id, type: 'function_call', call_id: 'c', name, arguments: '', ...more },
  })
  const both = (each: (id: string, name: string, x: number) => readonly JsonObject[]) => [
    ...each('i1', 'f', 1),
    ...each('i2', 'g', 2),
  ]

  test.each<[string, readonly JsonObject[]]>([
    [
      'where items have no index',
      both((id, name, x) => [
        { ...begun, ...item(id, name) },
        { ...piece, item_id: id, delta: '{"x":' },
        { ...piece, item_id: id, delta: `${x}}` },
        { ...done, ...item(id, name, { arguments: `{"x":${x}}` }) },
      ]),
    ],
    [
      'where they have no id either',
      both((_, name, x) => [
        { ...begun, ...item(undefined, name) },
        { ...piece, delta: `{"x":${x}}` },
        { ...done, ...item(undefined, name, { arguments: `{"x":${x}}` }) },
      ]),
    ],
    [
      'where none of them is said to begin',
      both((id, name, x) => [
        { ...piece, item_id: id, output_index: x, delta: `{"x":${x}}` },
        { ...done, output_index: x, ...item(id, name, { arguments: `{"x":${x}}` }) },
      ]),
    ],
  ])('%s', (_, said) => {
    const stream = startStream((text) => text, { family: 'openai', provider: 'p' })
    const events: ChatEvent[] = []
    for (const data of said) stream.take([{ data: JSON.stringify(data) }], events)
    expect(fold(events).toolCalls).toEqual([
      { id: 'c', name: 'f', arguments: '{"x":1}' },
      { id: expect.stringMatching(/^call_[0-9a-f]{32}$/), name: 'g', arguments: '{"x":2}' },
    ])
  })
})
