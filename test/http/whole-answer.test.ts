// A whole answer: the events of a stream, folded into OpenAI's object.
import { describe, expect, test } from 'vitest'
import type { ChatEvents } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'
import { finish, script, text } from '#test/support/scripted-upstream.ts'

const deps = await furnish()
const { bearer } = await deps.issue()

interface Answer {
  readonly choices: readonly { readonly message: Record<string, unknown> }[]
  readonly usage: Record<string, unknown>
  readonly error?: { readonly code: string }
}

async function answer(batches: readonly ChatEvents[], more = {}) {
  const played = script(async function* () {
    yield* batches
  })
  const { chat } = openApi(deps, { upstream: played.upstream })
  const response = await chat(bearer, hello(more))
  return { response, played, body: (await response.json()) as Answer }
}

test('text, finish reason and cost', async () => {
  const usage = {
    ...NO_USAGE,
    inputTokens: 6,
    cacheReadTokens: 4,
    outputTokens: 15,
    reasoningTokens: 5,
  }
  const { body, response } = await answer([
    [{ type: 'answer-fields', fields: { system_fingerprint: 'fp', model: 'theirs' } }],
    [text('Hel'), text('lo')],
    [finish(), { type: 'usage', usage }],
  ])
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(body).toEqual({
    system_fingerprint: 'fp',
    id: response.headers.get('x-generation-id'),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'demo/echo',
    provider: 'demo',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello' },
        logprobs: null,
        finish_reason: 'stop',
        native_finish_reason: 'end_turn',
      },
    ],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 15,
      total_tokens: 25,
      images: 0,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 5 },
      cost_rub: 0.0036,
      cost: 0.00004,
      cost_details: {
        prompt_usd: '0.00001',
        completion_usd: '0.00003',
        images_usd: '0',
        rub_per_usd: '90',
        price_version: expect.stringMatching(/^price_/),
        source: 'provider',
      },
    },
  })
})

test('image tokens of the prompt are reported where there were any', async () => {
  const usage = { ...NO_USAGE, inputTokens: 6, cacheReadTokens: 4, imageInputTokens: 90 }
  const { body } = await answer([[text('A cat.'), finish(), { type: 'usage', usage }]])
  expect(body.usage).toMatchObject({
    prompt_tokens: 100,
    total_tokens: 100,
    prompt_tokens_details: { cached_tokens: 4, image_tokens: 90 },
  })
})

describe('a message', () => {
  const message = async (batches: readonly ChatEvents[]) =>
    (await answer(batches)).body.choices[0]?.message

  test('has null content when there are only tool calls', async () => {
    const call = { type: 'tool-call-delta', choice: 0, kind: 'function' } as const
    const calls: ChatEvents[] = [
      [{ ...call, index: 1, id: 'c2', name: 'g', arguments: '{}', fields: { signature: 's' } }],
      [{ ...call, index: 0, id: 'c1', name: 'f', arguments: '{"a"' }],
      [{ ...call, index: 0, arguments: ':1}' }],
      [
        {
          type: 'tool-call-delta',
          choice: 0,
          index: 2,
          id: 'c3',
          name: 'h',
          kind: 'custom',
          arguments: 'raw',
        },
      ],
    ]
    expect(await message(calls)).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { signature: 's', id: 'c2', type: 'function', function: { name: 'g', arguments: '{}' } },
        { id: 'c3', type: 'custom', custom: { name: 'h', input: 'raw' } },
      ],
    })
    expect(await message([...calls, [text('and words')]])).toMatchObject({ content: 'and words' })
  })

  test('keeps reasoning, refusals and unknown fields beside the text', async () => {
    expect(
      await message([
        [{ type: 'reasoning-delta', choice: 0, text: 'h' }],
        [{ type: 'reasoning-delta', choice: 0, text: 'm' }],
        [{ type: 'refusal-delta', choice: 0, text: 'no' }],
        [{ type: 'message-fields', choice: 0, fields: { annotations: [1], role: 'root' } }],
      ]),
    ).toEqual({
      role: 'assistant',
      content: '',
      refusal: 'no',
      reasoning: 'hm',
      reasoning_content: 'hm',
      annotations: [1],
    })
  })

  test('has empty text when nothing arrived', async () => {
    expect(await message([])).toEqual({ role: 'assistant', content: '' })
  })
})

test('choices are in order, with their own log probabilities', async () => {
  const { body } = await answer(
    [
      [{ type: 'text-delta', choice: 1, text: 'b', logprobs: { content: [1] } }],
      [
        text('a', 0),
        { type: 'text-delta', choice: 1, text: 'c', logprobs: { content: [2], refusal: null } },
      ],
      [{ type: 'finish', choice: 1, reason: 'length', native: 'max' }, finish(0)],
    ],
    { n: 2 },
  )
  expect(body.choices).toMatchObject([
    { index: 0, message: { content: 'a' }, logprobs: null, finish_reason: 'stop' },
    {
      index: 1,
      message: { content: 'bc' },
      logprobs: { content: [1, 2] },
      finish_reason: 'length',
      native_finish_reason: 'max',
    },
  ])
})

describe('an image', () => {
  const ask = { model: 'demo/image', modalities: ['image', 'text'] }

  test('is returned whole, beside empty text', async () => {
    const image = (url: string) => ({ type: 'image', choice: 0, url }) as const
    const { body, played } = await answer(
      [[image('data:image/png;base64,AAAA'), image('data:image/png;base64,BBBB')], [finish()]],
      { ...ask, n: 2 },
    )
    expect(body.choices[0]?.message).toEqual({
      role: 'assistant',
      content: '',
      images: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, index: 0 },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,BBBB' }, index: 1 },
      ],
    })
    expect(body.usage).toMatchObject({ images: 2, cost: 0.02, cost_rub: 1.8 })
    expect(played.calls[0]?.request.body['modalities']).toEqual(['image', 'text'])
  })

  test.each([
    'data:image/svg+xml;base64,QUJD',
    'data:image/png;base64,"},{"',
    'data:image/png;base64,QUJD\\n',
    'data:image/png;base64,',
    'data:,"quoted" \\ \n \ud800',
    `data:image/png;base64,${'QUJD'.repeat(200_000)}`,
    'https://images.example/a"b.png',
  ])('is returned with its URL unchanged: %.40s', async (url) => {
    const { body } = await answer([[{ type: 'image', choice: 0, url }], [finish()]], ask)
    expect(body.choices[0]?.message['images']).toEqual([
      { type: 'image_url', image_url: { url }, index: 0 },
    ])
  })

  test('that does not arrive is 502 and costs nothing', async () => {
    const { body, response } = await answer([[text('sorry')], [finish()]], ask)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(body.error?.code).toBe('no_image_returned')
    expect((await deps.store.activity.list({ limit: 1 }))[0]).toMatchObject({ cost: 0n })
  })
})

test('T20: a partial answer is an error to a client that asked for a whole one, and is charged', async () => {
  const played = script(async function* () {
    yield [text('half of it')]
    throw new UpstreamFailure('failed', 'it broke')
  })
  const { chat } = openApi(deps, { upstream: played.upstream })
  const response = await chat(bearer, hello())
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: { code: 'upstream_error' } })
  const [entry] = await deps.store.activity.list({ limit: 1 })
  expect(entry).toMatchObject({ endedBy: 'upstream', usageSource: 'estimated' })
  expect(entry?.cost).toBeGreaterThan(0n)
})

test('both prefixes answer alike', async () => {
  const { app } = openApi(deps)
  for (const prefix of ['/v1', '/api/v1']) {
    const response = await app.request(`http://gateway.test${prefix}/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...bearer },
      body: JSON.stringify(hello()),
    })
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: 'hello there world' } }],
    })
  }
})
