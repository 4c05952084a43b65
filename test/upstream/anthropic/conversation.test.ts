// The stock OpenAI client with an Anthropic provider: two turns with a tool, whole and streamed.
import type { ServerResponse } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import { type Served, serve } from '#test/server/serve.ts'
import { aCard, anAct, aProvider, aVersion, perM } from '#test/support/nouns.ts'
import { eventually } from '#test/support/scripted-upstream.ts'
import { type Socket, startProvider } from '../fixtures.ts'

// biome-ignore lint/suspicious/noExplicitAny: what the provider saw, as deep as a test looks.
type Wire = any

const MODEL = 'anthropic/claude-haiku-4-5'
const PROMPT = {
  input_tokens: 100,
  cache_read_input_tokens: 1_000,
  cache_creation_input_tokens: 10,
}

let provider: Socket
let served: Served
let client: OpenAI
/** What the provider does next, one entry for each request. */
let script: ((response: ServerResponse) => void)[] = []

beforeAll(async () => {
  provider = await startProvider((response) => script.shift()?.(response))
  served = await serve(null)
  const { store } = served.deps
  const name = 'anthropic'
  const at = served.deps.clock.now()
  await store.providers.add(
    aProvider({ name, type: 'anthropic', baseUrl: provider.url, createdAt: at }),
    [],
    [],
    anAct(),
  )
  const price = aVersion({
    prompt: perM('1'),
    completion: perM('5'),
    cacheRead: perM('0.1'),
    cacheWrite: perM('1.25'),
  })
  await store.models.add(
    aCard({ id: MODEL, provider: name, upstreamName: 'claude-haiku-4-5', createdAt: at, price }),
    anAct(),
  )
  const apiKey = served.key.bearer['Authorization']?.slice('Bearer '.length) ?? ''
  client = new OpenAI({ apiKey, baseURL: `${served.gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await served?.gateway.stop(0)
  await served?.deps.store.close()
  await provider?.stop()
})
beforeEach(() => {
  script = []
  provider.seen.length = 0
})

const bodyOf = (n: number): Wire => provider.seen[n]?.body

const THOUGHT = { type: 'thinking', thinking: 'Paris, then.', signature: 'c2lnbmVk' }
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } }
const SAID = { type: 'text', text: 'It is 15 degrees.' }

const whole = (content: readonly JsonObject[], reason: string) => (response: ServerResponse) => {
  response.setHeader('content-type', 'application/json')
  const usage = { ...PROMPT, output_tokens: 20 }
  response.end(JSON.stringify({ type: 'message', content, stop_reason: reason, usage }))
}

const sse = (...events: readonly JsonObject[]): string =>
  events.map((one) => `event: ${one['type']}\ndata: ${JSON.stringify(one)}   \n\n`).join('')

const START = { type: 'message_start', message: { usage: { ...PROMPT, output_tokens: 1 } } }

/** Every block in pieces. */
function spell(block: Wire, index: number): JsonObject[] {
  const { type, text, thinking, signature, input, ...rest } = block
  const empty = {
    text: { text: '' },
    thinking: { thinking: '', signature: '' },
    tool_use: { ...rest, input: {} },
  }[type as 'text']
  const pieces = {
    text: [{ type: 'text_delta', text }],
    thinking: [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
    tool_use: JSON.stringify(input)
      ?.split('')
      .map((partial_json: string) => ({ type: 'input_json_delta', partial_json })),
  }[type as 'text'] as JsonObject[]
  return [
    { type: 'content_block_start', index, content_block: { type, ...empty } },
    ...pieces.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

const streamed = (content: readonly JsonObject[], reason: string) => (response: ServerResponse) => {
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  response.end(
    sse(
      START,
      { type: 'ping' },
      ...content.flatMap(spell),
      { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 20 } },
      { type: 'message_stop' },
    ),
  )
}

const TOOLS = [
  {
    type: 'function' as const,
    function: {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]
const QUESTION = { role: 'user' as const, content: 'How warm is it in Paris?' }
const RESULT = { role: 'tool' as const, tool_call_id: 'toolu_1', content: '15 degrees' }

/** Asks, as an application would, and answers with what it holds afterwards: the message, and the last usage. */
async function ask(
  messages: readonly Wire[],
  stream: boolean,
): Promise<{ message: Wire; usage: Wire; finish: Wire }> {
  const body = {
    model: MODEL,
    messages: messages as never,
    tools: TOOLS,
    reasoning_effort: 'low' as const,
    user: 'u_7',
  }
  if (!stream) {
    const answer = await client.chat.completions.create(body)
    const [choice] = answer.choices
    return { message: choice?.message, usage: answer.usage, finish: choice?.finish_reason }
  }
  const running = client.chat.completions.stream({
    ...body,
    stream_options: { include_usage: true },
  })
  const answer = await running.finalChatCompletion()
  const [choice] = answer.choices
  return { message: choice?.message, usage: answer.usage, finish: choice?.finish_reason }
}

describe.each([
  ['whole', false],
  ['streamed', true],
] as const)('%s', (_, stream) => {
  const answer = stream ? streamed : whole

  test('a tool is called, and its result is sent with the thinking that led to it', async () => {
    script = [answer([THOUGHT, CALL], 'tool_use'), answer([SAID], 'end_turn')]
    const first = await ask([QUESTION], stream)
    expect(first.finish).toBe('tool_calls')
    expect(first.message.tool_calls).toMatchObject([
      {
        id: 'toolu_1',
        type: 'function',
        function: { name: 'weather', arguments: '{"city":"Paris"}' },
      },
    ])
    expect(first.usage).toMatchObject({
      prompt_tokens: 1_110,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 10 },
      // 100 × 1 + 1000 × 0.1 + 10 × 1.25 + 20 × 5 dollars per million.
      cost: 0.0003125,
      cost_details: { source: 'provider' },
    })

    const second = await ask([QUESTION, first.message, RESULT], stream)
    expect(second.message.content).toBe('It is 15 degrees.')
    expect(second.finish).toBe('stop')
    expect(provider.seen[0]?.path).toBe('/messages')
    expect(bodyOf(1)).toMatchObject({
      model: 'claude-haiku-4-5',
      max_tokens: 4_096,
      metadata: { user_id: 'u_7' },
      thinking: { type: 'enabled', budget_tokens: 2_048 },
      messages: [
        { role: 'user', content: [{ type: 'text', text: QUESTION.content }] },
        { role: 'assistant', content: [THOUGHT, CALL] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'text', text: '15 degrees' }],
            },
          ],
        },
      ],
    })
    expect(bodyOf(1).messages[1].content).toEqual([THOUGHT, CALL])
  })

  test('a client that rebuilds its messages continues without thinking', async () => {
    script = [answer([THOUGHT, CALL], 'tool_use'), answer([SAID], 'end_turn')]
    const { message } = await ask([QUESTION], stream)
    const [{ id, type, function: called }] = message.tool_calls
    const rebuilt = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type, function: { name: called.name, arguments: called.arguments } }],
    }
    await ask([QUESTION, rebuilt, RESULT], stream)
    expect(bodyOf(1)).not.toHaveProperty('thinking')
    expect(bodyOf(1).messages[1].content).toEqual([CALL])
  })

  test('an overloaded provider, in either of its two forms, is reported as such', async () => {
    const before = await served.deps.store.ledger.list({ kind: 'charge', limit: 100 })
    const body = JSON.stringify({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    })
    const overloaded: (typeof script)[number] = (response) =>
      response.writeHead(529, { 'content-type': 'application/json' }).end(body)
    script = [
      // Asked once more, because nothing had come of the first.
      overloaded,
      overloaded,
      (response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end(`${sse(START)}event: error\ndata: ${body}\n\n`)
      },
    ]
    for (const _ of [1, 2]) {
      await expect(ask([QUESTION], stream)).rejects.toMatchObject({
        status: 503,
        code: 'upstream_overloaded',
      })
    }
    const after = await served.deps.store.ledger.list({ kind: 'charge', limit: 100 })
    expect(after).toHaveLength(before.length)
  })

  test('a request that the wire format cannot express is refused and never sent', async () => {
    const asking = client.chat.completions.create({
      model: MODEL,
      messages: [QUESTION],
      n: 2,
      stream,
    })
    await expect(asking).rejects.toMatchObject({ status: 400, code: 'invalid_request' })
    expect(provider.seen).toEqual([])
  })
})

test('a client that disconnects in the middle pays for the counted prompt and the text that arrived', async () => {
  script = [
    (response) => {
      response.setHeader('content-type', 'text/event-stream')
      const delta = { type: 'text_delta', text: 'x'.repeat(400) }
      response.write(
        sse(
          START,
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta },
        ),
      )
    },
  ]
  const running = await client.chat.completions.create({
    model: MODEL,
    messages: [QUESTION],
    stream: true,
  })
  for await (const chunk of running) if (chunk.choices[0]?.delta.content) break
  await provider.aborted(0)
  const { store } = served.deps
  await eventually(async () => (await served.openHolds()) === 0, 'the hold is resolved')
  const [entry] = await store.activity.list({ limit: 1 })
  expect(entry).toMatchObject({
    endedBy: 'client',
    usageSource: 'estimated',
    usage: { inputTokens: 100, cacheReadTokens: 1_000, cacheWriteTokens: 10, outputTokens: 100 },
    // 100 × 1 + 1000 × 0.1 + 10 × 1.25 + 100 × 5 dollars per million, in nano-dollars.
    cost: 712_500n,
  })
})
