// POST /v1/messages for models of providers that speak other APIs: what they are asked, what the client gets, what it costs, and what ends it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GenerationId } from '#domain/id.ts'
import {
  type AnyProvider,
  body,
  type Family,
  frames,
  hello,
  openAnyProvider,
  sayInChat,
  sayInGemini,
  sayInMessages,
  type Wire,
} from '#test/server/any-provider.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

let s: AnyProvider
beforeAll(async () => {
  s = await openAnyProvider()
})
afterAll(() => s?.close())
beforeEach(() => {
  for (const family of ['chat', 'router', 'gemini', 'claude'] as const) {
    s.seen(family).length = 0
  }
  s.reply('chat', sayInChat({ content: 'Hello' }))
  s.reply('router', sayInChat({ content: 'Hello' }))
  s.reply('gemini', sayInGemini({ text: 'Hello' }))
  s.reply('claude', sayInMessages('Hello'))
})

const last = (family: Family): Wire => s.seen(family).at(-1)?.body

/** In nano-dollars, once it is written. */
async function charged(answer: Response): Promise<bigint> {
  const id = answer.headers.get('x-generation-id') as GenerationId
  let cost: bigint | undefined
  await eventually(async () => {
    cost = (await s.deps.store.activity.find(id))?.cost
    return cost !== undefined
  }, 'the charge')
  return cost ?? 0n
}

const TOOLS = [
  { name: 'look', description: 'looks', input_schema: { type: 'object', properties: {} } },
  { name: 'x'.repeat(80), input_schema: { type: 'object', properties: {} } },
] as never[]

describe.each(['chat', 'router', 'gemini'] as const)('a turn with tools, by %s', (family) => {
  const long = 'x'.repeat(80)
  const nameSent = (index: number): string =>
    family === 'gemini'
      ? last(family).tools[0].functionDeclarations[index].name
      : last(family).tools[index].function.name

  const callBoth = () => {
    const names = () => [nameSent(0), nameSent(1)]
    if (family === 'gemini') {
      s.reply('gemini', (response, sent) => {
        const [one, other] = names()
        sayInGemini(
          { text: 'I look.' },
          { functionCall: { name: one, args: { a: 1 } } },
          { functionCall: { name: other, args: {} } },
        )(response, sent)
      })
    } else {
      s.reply(family, (response, sent) => {
        const tool_calls = names().map((name, index) => ({
          ...{ index, id: `call_${index}`, type: 'function' },
          function: { name, arguments: index === 0 ? '{"a":1}' : '' },
        }))
        sayInChat({ content: 'I look.', tool_calls }, 'stop')(response, sent)
      })
    }
  }

  test.each([false, true])('W23: two calls and their results (stream: %j)', async (stream) => {
    callBoth()
    const asked = hello(`${family}/m`, { tools: TOOLS })
    const message = stream
      ? await s.client.messages.stream(asked as never).finalMessage()
      : await s.client.messages.create(asked as never)
    expect(message).toMatchObject({
      model: `${family}/m`,
      role: 'assistant',
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', name: 'look', input: { a: 1 } },
        { type: 'tool_use', name: long, input: {} },
      ],
      usage: { input_tokens: 10, output_tokens: 5 },
    })
    expect(nameSent(1).length).toBeLessThanOrEqual(64)
    // The results come back in the order in which they were ready.
    const calls = message.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
    const results = calls.toReversed().map(({ id, name }) => ({
      ...{ type: 'tool_result', tool_use_id: id, is_error: name === 'look' },
      content: `of ${name.slice(0, 4)}`,
    }))
    const turns = [
      ...[...asked.messages, { role: 'assistant', content: message.content }],
      { role: 'user', content: [...results, { type: 'text', text: 'go on' }] },
    ]
    await s.client.messages.create({ ...asked, messages: turns } as never)
    const sent = last(family)
    if (family === 'gemini') {
      expect(sent.contents.at(-1).parts).toEqual([
        expect.objectContaining({
          functionResponse: expect.objectContaining({ response: { error: 'of look' } }),
        }),
        expect.objectContaining({
          functionResponse: expect.objectContaining({ response: { result: 'of xxxx' } }),
        }),
        { text: 'go on' },
      ])
    } else {
      expect(sent.messages.slice(-3)).toEqual([
        { role: 'tool', tool_call_id: calls[0]?.id, content: 'Error:\nof look' },
        { role: 'tool', tool_call_id: calls[1]?.id, content: 'of xxxx' },
        { role: 'user', content: 'go on' },
      ])
    }
  })
})

describe('what others are sent', () => {
  test('W18: no header of the client’s own vendor', async () => {
    await s.ask(hello('chat/m'), { 'anthropic-beta': 'effort-2025-11-24', 'x-app': 'cli' })
    const names = Object.keys(s.seen('chat').at(-1)?.headers ?? {})
    expect(names.filter((name) => /^(?:anthropic|x-app|x-api-key)/.test(name))).toEqual([])
  })

  test('thinking is asked for by an effort, and shown to those who asked', async () => {
    s.reply('chat', sayInChat({ reasoning_content: 'hm', content: 'yes' }))
    const thinking = { type: 'enabled', budget_tokens: 10_000 }
    const shown = await s.client.messages.create(
      hello('chat/m', { thinking, max_tokens: 20_000 }) as never,
    )
    expect((shown as Wire).content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'yes' },
    ])
    expect(last('chat').reasoning_effort).toBe('medium')
    const hidden = await s.client.messages.create(
      hello('chat/m', { thinking: { type: 'disabled' } }) as never,
    )
    expect((hidden as Wire).content).toEqual([{ type: 'text', text: 'yes' }])
    expect(last('chat')).not.toHaveProperty('reasoning_effort')
    await s.client.messages.create(
      hello('gemini/m', {
        thinking: { type: 'adaptive' },
        output_config: { effort: 'max' },
      }) as never,
    )
    expect(last('gemini').generationConfig.thinkingConfig).toEqual({
      thinkingLevel: 'HIGH',
      includeThoughts: true,
    })
  })

  test('a budget that becomes an effort is within any limit of the key', async () => {
    const { bearer } = await s.deps.issue({ maxOutputTokens: 4_096 })
    const thinking = { type: 'enabled', budget_tokens: 31_999 }
    const asked = { thinking, max_tokens: 64_000 }
    const answer = await s.ask(hello('chat/m', asked), bearer)
    expect([answer.status, last('chat').reasoning_effort]).toEqual([200, 'high'])
    expect((await s.ask(hello('claude/m', asked), bearer)).status).toBe(400)
  })

  test('what is no message is refused in the words of the field', async () => {
    for (const [more, param] of [
      [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
      [{ messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'messages[0].content[0]'],
      [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0]'],
      [{ tool_choice: { type: 'some' }, tools: TOOLS }, 'tool_choice'],
    ] as const) {
      for (const model of ['chat/m', 'gemini/m']) {
        const answer = await s.ask(hello(model, more))
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { error: { type: 'invalid_request_error', details: { code: 'invalid_request', param } } },
        ])
      }
    }
    expect([s.seen('chat'), s.seen('gemini')]).toEqual([[], []])
  })
})

describe('what costs extra', () => {
  const search = [{ type: 'web_search_20250305', name: 'web_search' }]
  const marked = {
    system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
  }

  test.each([
    ['W17: a search', { tools: search }, 'tools[0].type', 'no such tool as web_search'],
    ['a speed', { speed: 'fast' }, 'speed', 'is sent it'],
    ['a tier', { service_tier: 'priority' }, 'service_tier', 'is sent it'],
    ['a region', { inference_geo: 'us' }, 'inference_geo', 'is sent it'],
  ])('%s is refused, and named', async (_, more, param, words) => {
    for (const model of ['chat/m', 'gemini/m', 'demo/echo']) {
      const answer = await s.ask(hello(model, more))
      const { error } = (await answer.json()) as Wire
      expect([answer.status, error.details.code, error.details.param]).toEqual([
        ...[400, 'unsupported_parameter', param],
      ])
      expect(error.message).toContain(words)
    }
    expect(s.seen('chat')).toEqual([])
  })

  test('W9: an hour of caching is a mark without it, and is not charged', async () => {
    const usage = {
      ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 4 },
    }
    s.reply('router', sayInChat({ content: 'x' }, 'stop', usage))
    const answer = await s.ask(hello('router/m', marked))
    expect(answer.status).toBe(200)
    expect((await answer.json()) as Wire).toMatchObject({
      usage: { input_tokens: 6, cache_creation_input_tokens: 4 },
    })
    expect(last('router').messages[0].content[0].cache_control).toEqual({ type: 'ephemeral' })
    // Six at $1, four at $10 and not at $100, five at $2 a million.
    expect(await charged(answer)).toBe(56_000n)
    expect((await s.ask(hello('gemini/m', marked))).status).toBe(200)
  })

  test('a hop that has them is asked, and no other', async () => {
    await s.route('both/m', ['chat', 'claude'])
    s.reply('claude', (response) => body(response, { type: 'error' }, 500))
    const both = await s.ask(hello('both/m', marked))
    expect(both.status).toBe(200)
    expect([s.seen('chat').length, s.seen('claude').length]).toEqual([1, 0])
    const answer = await s.ask(hello('both/m', { tools: search }))
    expect([answer.status, s.seen('chat').length]).toEqual([400, 1])
  })
})

describe('a fallback', () => {
  const asked = { tools: TOOLS, system: 'be brief', metadata: { user_id: 'u' } }

  test.each([false, true])('from the client’s own API to another (stream: %j)', async (stream) => {
    await s.route(`mixed/${stream}`, ['claude', 'chat'])
    s.reply('claude', (response) => {
      if (!stream) return body(response, { type: 'error', error: { message: 'no' } }, 529)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: message_start\ndata: {"type":"message_start","message":{}}\n\n')
      response.write('event: ping\ndata: {"type":"ping"}\n\n', () => response.destroy())
    })
    const answer = await s.ask(hello(`mixed/${stream}`, { ...asked, stream }))
    const text = await answer.text()
    expect([answer.status, s.seen('claude').length, s.seen('chat').length]).toEqual([200, 1, 1])
    expect(answer.headers.get('x-gateway-provider')).toBe('chat')
    expect(text).toContain(`"model":"mixed/${stream}"`)
    expect(text).toContain('Hello')
    expect(text.match(/event: message_start/g) ?? []).toHaveLength(stream ? 1 : 0)
    expect(last('chat').messages).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
    ])
  })

  test('and from another API to the client’s own, byte for byte', async () => {
    await s.route('back/m', ['chat', 'claude'])
    s.reply('chat', (response) => body(response, { error: { message: 'no' } }, 503))
    const message = await s.client.messages.create(hello('back/m') as never)
    expect(message).toMatchObject({ id: 'msg_theirs', model: 'claude-model' })
  })
})

describe('the end', () => {
  const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })

  test('a stream that breaks ends with an error, and no message_stop; what came is paid', async () => {
    s.reply('chat', (response) => {
      frames(response, [chunk('Hel'), chunk('lo')])
      setImmediate(() => response.destroy())
    })
    const answer = await s.ask(hello('chat/m', { stream: true }))
    const text = await answer.text()
    expect(text).toMatch(/event: error\ndata: \{"type":"error",.*"api_error".*\}\n\n$/)
    expect(text).not.toContain('message_stop')
    expect(await charged(answer)).toBeGreaterThan(0n)
  })

  test('a stream that fails with a count and no word has the status of the failure', async () => {
    s.reply('chat', (response) => {
      const usage = { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 }
      frames(response, [{ choices: [], usage }, { error: { message: 'boom', code: 500 } }])
      response.end()
    })
    const asked = hello('chat/m', { stream: true, allow_fallbacks: false } as never)
    const answer = await s.ask(asked)
    expect([answer.status, await answer.json()]).toMatchObject([
      502,
      { type: 'error', error: { type: 'api_error' } },
    ])
  })

  test('the receipt comes before the ending, and the cost with it where it is asked for', async () => {
    const answer = await s.ask(hello('chat/m', { stream: true }), { 'x-gateway-usage': '1' })
    const text = await answer.text()
    expect(text).toMatch(/event: message_delta\ndata: .*"cost":0\.00002,"cost_rub":/)
    // Ten at $1, five at $2 a million.
    expect(await charged(answer)).toBe(20_000n)
    const whole = await s.ask(hello('chat/m'), { 'x-gateway-usage': '1' })
    expect(await whole.text()).toContain('"cost":0.00002')
  })

  test('a client that leaves: the provider is let go, and what came is paid', async () => {
    s.reply('chat', (response) => frames(response, [chunk('Hello')]))
    const leaving = new AbortController()
    const answer = await fetch(`${s.gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { ...s.key.bearer, 'content-type': 'application/json' },
      body: JSON.stringify(hello('chat/m', { stream: true })),
      signal: leaving.signal,
    })
    await answer.body?.getReader().read()
    leaving.abort()
    await s.socket('chat').aborted(s.seen('chat').length - 1)
    expect(await charged(answer)).toBeGreaterThan(0n)
    expect(await s.openHolds()).toBe(0)
  })

  test('the same key and body get the same stream again, paid for once', async () => {
    const headers = { 'idempotency-key': 'once' }
    const first = await s.ask(hello('chat/m', { stream: true }), headers)
    const text = await first.text()
    const second = await s.ask(hello('chat/m', { stream: true }), headers)
    expect(await second.text()).toBe(text)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(s.seen('chat').length).toBe(1)
  })

  test('a provider’s refusal keeps its words', async () => {
    s.reply('chat', (response) => body(response, { error: { message: 'odd temperature' } }, 400))
    const answer = await s.ask(hello('chat/m', { temperature: 9 }))
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', message: 'odd temperature' } },
    ])
  })
})

describe('W19: count_tokens', () => {
  const count = async (model: string, content: unknown, more: object = {}): Promise<number> => {
    const asked = { model, messages: [{ role: 'user', content }], ...more }
    const answer = await s.ask(asked, {}, '/v1/messages/count_tokens')
    expect(answer.status).toBe(200)
    return ((await answer.json()) as Wire).input_tokens
  }

  test.each(['chat/m', 'gemini/m', 'router/m', 'demo/echo'])(
    'by estimate for %s',
    async (model) => {
      const short = await count(model, 'hi')
      expect(short).toBeGreaterThan(0)
      expect(await count(model, 'word '.repeat(1_000))).toBeGreaterThan(short + 800)
      expect([s.seen('chat'), s.seen('gemini'), s.seen('router')]).toEqual([[], [], []])
    },
  )

  test('with images, and whatever tools there are', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
    const withImage = await count('chat/m', [{ type: 'image', source }])
    expect(withImage - (await count('chat/m', [{ type: 'text', text: 'AAAA' }]))).toBeGreaterThan(
      500,
    )
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    expect(await count('chat/m', 'hi', { tools })).toBeGreaterThan(0)
  })
})
