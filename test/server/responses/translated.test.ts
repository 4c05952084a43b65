// POST /v1/responses for models of providers that speak other APIs: what they are asked turn after turn, whose thoughts they get, and what ends an answer.
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GenerationId } from '#domain/id.ts'
import {
  type AnyProvider,
  body as answerWith,
  type Family,
  frames,
  openAnyProvider,
  type Reply,
  sayInChat,
  sayInGemini,
  sayInMessages,
  type Wire,
} from '#test/server/any-provider.ts'
import { eventually } from '#test/support/scripted-upstream.ts'
import { checkOrder, readEvents } from './read-events.ts'

let s: AnyProvider
let client: OpenAI
beforeAll(async () => {
  s = await openAnyProvider()
  const apiKey = (s.key.bearer['Authorization'] ?? '').slice('Bearer '.length)
  client = new OpenAI({ apiKey, baseURL: `${s.gateway.url}/v1`, maxRetries: 0 })
})
afterAll(() => s?.close())
beforeEach(() => {
  for (const family of ['chat', 'router', 'gemini', 'claude'] as const) s.seen(family).length = 0
  s.reply('chat', sayInChat({ content: 'Hello' }))
  s.reply('gemini', sayInGemini({ text: 'Hello' }))
  s.reply('claude', sayInMessages('Hello'))
})

const last = (family: Family): Wire => s.seen(family).at(-1)?.body

const ask = (body: object, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${s.gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { ...s.key.bearer, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...init,
  })

const hello = (model: string, more: object = {}) => ({ model, input: 'hi', ...more })

/** An answer of Claude's as it comes whole. */
const sayAsClaude =
  (...content: readonly object[]): Reply =>
  (response) =>
    answerWith(response, {
      ...{ id: 'msg_theirs', type: 'message', role: 'assistant', model: 'claude-model', content },
      ...{ stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 10, output_tokens: 5 },
    })

const THOUGHTS = [
  { type: 'thinking', thinking: 'hm', signature: 'sig-1' },
  { type: 'redacted_thinking', data: 'opaque' },
]
const USES = [
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
  { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
]
const TOOLS = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }]

/** The next turn of an agent: all items of the answer as they came, and the results of its calls. */
const next = (input: readonly object[], output: readonly Wire[]): readonly object[] => [
  ...input,
  ...output,
  ...output
    .filter(({ call_id }) => call_id !== undefined)
    .map(({ call_id, type }) => ({
      type: type === 'custom_tool_call' ? 'custom_tool_call_output' : 'function_call_output',
      call_id,
      output: `result of ${call_id}`,
    })),
]

const USER = { role: 'user', content: 'go' }

describe('thoughts', () => {
  const think = async (more: object = {}) => {
    s.reply('claude', sayAsClaude(...THOUGHTS, { type: 'text', text: 'I look.' }, ...USES))
    const answer = await ask({ model: 'claude/m', input: [USER], tools: TOOLS, ...more })
    const { output } = (await answer.json()) as Wire
    return next([USER], output)
  }

  test('W26: Claude gets its own back, in their place and unchanged', async () => {
    const input = await think()
    expect(JSON.stringify(input)).not.toContain('sig-1')
    await ask({ model: 'claude/m', input, tools: TOOLS, reasoning: { effort: 'high' } })
    expect(last('claude').messages.slice(1)).toEqual([
      { role: 'assistant', content: [...THOUGHTS, { type: 'text', text: 'I look.' }, ...USES] },
      {
        role: 'user',
        content: ['toolu_1', 'toolu_2'].map((id) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [{ type: 'text', text: `result of ${id}` }],
        })),
      },
    ])
  })

  test('W26: nobody else gets them: no other family, no other provider, no other model', async () => {
    const input = await think()
    await s.route('twin/m', ['claude'])
    for (const [model, family] of [
      ['chat/m', 'chat'],
      ['gemini/m', 'gemini'],
      ['router/m', 'router'],
      ['twin/m', 'claude'],
    ] as const) {
      s.reply('router', (response) =>
        answerWith(response, { id: 'r', output: [], status: 'completed' }),
      )
      const answer = await ask({ model, input, tools: TOOLS })
      expect([model, answer.status]).toEqual([model, 200])
      const sent = JSON.stringify(last(family))
      expect([model, /sig-1|opaque|rs_gw|encrypted_content":|"hm"/.test(sent)]).toEqual([
        model,
        false,
      ])
      expect(sent).toContain('I look.')
    }
  })

  test('W26: a conversation that began elsewhere goes on without what was thought there', async () => {
    const foreign = {
      type: 'reasoning',
      id: 'rs_0a1',
      summary: [{ type: 'summary_text', text: 'plan' }],
      encrypted_content: 'gAAAAA==',
    }
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
    for (const family of ['chat', 'gemini', 'claude'] as const) {
      const input = [USER, foreign, ...next([], [call])]
      expect((await ask({ model: `${family}/m`, input, tools: TOOLS })).status).toBe(200)
      expect(JSON.stringify(last(family))).not.toMatch(/gAAAAA|plan/)
    }
  })

  test('Gemini gets its signature of a call back', async () => {
    await s.deps.store.models.add(
      (await import('#test/support/nouns.ts')).aCard({
        id: 'gemini/three',
        provider: 'gemini',
        upstreamName: 'gemini-3-pro',
      }),
      (await import('#test/support/nouns.ts')).anAct(),
    )
    s.reply(
      'gemini',
      sayInGemini(
        { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'theirs' },
        { functionCall: { name: 'f', args: {} } },
      ),
    )
    const answer = await ask({ model: 'gemini/three', input: [USER], tools: TOOLS })
    const { output } = (await answer.json()) as Wire
    expect(output.map(({ type }: Wire) => type)).toEqual([
      'reasoning',
      'function_call',
      'function_call',
    ])
    await ask({ model: 'gemini/three', input: next([USER], output), tools: TOOLS })
    const [, said] = last('gemini').contents
    expect(said.parts.map((part: Wire) => part.thoughtSignature)).toEqual(['theirs', undefined])
    // Without it, and for another model, the documented placeholder stands there.
    const kept = output.filter(({ type }: Wire) => type !== 'reasoning')
    await ask({ model: 'gemini/three', input: next([USER], kept), tools: TOOLS })
    expect(last('gemini').contents[1].parts[0].thoughtSignature).toMatch(/^skip_/)
  })
})

describe.each(['chat', 'gemini', 'claude'] as const)('an agent on %s', (family) => {
  const NAMESPACE = 'n'.repeat(60)
  const tools = [
    { type: 'custom', name: 'apply', description: 'Edits.', format: { type: 'text' } },
    { type: 'namespace', name: NAMESPACE, tools: [{ type: 'function', name: 'spawn' }] },
    { type: 'web_search' },
  ]

  /** The names as which the provider was offered the tools. */
  const offered = (): readonly string[] => {
    const { tools: sent } = last(family)
    const list = family === 'gemini' ? sent[0].functionDeclarations : sent
    return list.map((tool: Wire) => tool.function?.name ?? tool.name)
  }

  const callAll = () =>
    s.reply(family, (response, sent) => {
      const [apply = '', spawn = ''] = offered()
      const patch = { input: '*** "é"\n' }
      if (family === 'chat') {
        const call = (index: number, name: string, args: object) => ({
          ...{ index, id: `call_${index}`, type: 'function' },
          function: { name, arguments: JSON.stringify(args) },
        })
        const tool_calls = [call(0, apply, patch), call(1, spawn, { a: 1 })]
        return sayInChat({ content: null, tool_calls }, 'tool_calls')(response, sent)
      }
      if (family === 'gemini') {
        return sayInGemini(
          { functionCall: { name: apply, args: patch } },
          { functionCall: { name: spawn, args: { a: 1 } } },
        )(response, sent)
      }
      sayAsClaude(
        { type: 'tool_use', id: 'toolu_1', name: apply, input: patch },
        { type: 'tool_use', id: 'toolu_2', name: spawn, input: { a: 1 } },
      )(response, sent)
    })

  test('W27, W29: calls tools of every kind at once, and gets their results', async () => {
    callAll()
    const answer = await ask({ model: `${family}/m`, input: [USER], tools, stream: true })
    const { response } = checkOrder(readEvents(await answer.text()))
    const [patch, spawn] = response.output.filter(({ call_id }: Wire) => call_id !== undefined)
    expect(patch).toMatchObject({ type: 'custom_tool_call', name: 'apply', input: '*** "é"\n' })
    expect(spawn).toMatchObject({
      type: 'function_call',
      name: 'spawn',
      namespace: NAMESPACE,
      arguments: '{"a":1}',
    })
    for (const name of offered()) expect(name.length).toBeLessThanOrEqual(64)

    const [apply, spawned] = offered()
    s.reply(
      family,
      {
        chat: sayInChat({ content: 'Done' }),
        gemini: sayInGemini({ text: 'Done' }),
        claude: sayInMessages('Done'),
      }[family],
    )
    const done = await ask({ model: `${family}/m`, input: next([USER], response.output), tools })
    expect(((await done.json()) as Wire).output[0].content[0].text).toBe('Done')
    const sent = JSON.stringify(last(family))
    for (const { call_id } of [patch, spawn]) expect(sent).toContain(`result of ${call_id}`)
    expect(sent).toContain(JSON.stringify(apply))
    expect(sent).toContain(JSON.stringify(spawned))
    expect(sent).not.toContain('web_search')
  })

  test('W25: refers to nothing that is kept', async () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
    const input = [USER, { type: 'item_reference', id: 'rs_1' }, ...next([], [call])]
    expect((await ask({ model: `${family}/m`, input, tools: TOOLS })).status).toBe(200)
    const refused = await ask({
      model: `${family}/m`,
      input: [{ type: 'item_reference', id: 'msg_1' }],
    })
    expect(refused.status).toBe(400)
  })

  test('W24: goes on with no id', async () => {
    const refused = await ask(hello(`${family}/m`, { previous_response_id: 'resp_1' }))
    expect([refused.status, ((await refused.json()) as Wire).error.param]).toEqual([
      400,
      'previous_response_id',
    ])
    expect(s.seen(family)).toEqual([])
  })
})

describe('an image that a tool returns', () => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'view', arguments: '{}' }
  const output = [
    { type: 'input_text', text: 'Here.' },
    { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
  ]
  const input = [USER, call, { type: 'function_call_output', call_id: 'call_1', output }]

  test.each(['chat', 'gemini', 'claude'] as const)('W29: reaches %s', async (family) => {
    expect((await ask({ model: `${family}/m`, input, tools: TOOLS })).status).toBe(200)
    const sent = JSON.stringify(last(family))
    expect(sent).toContain('Here.')
    expect(sent).toContain('iVBORw0KGgo=')
  })
})

describe('the lane is that of the hop', () => {
  const failing: Reply = (response) => answerWith(response, { error: { message: 'no' } }, 500)
  const RESPONSE = { id: 'resp_theirs', object: 'response', status: 'completed', output: [] }
  const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }

  test.each([false, true])('a fallback changes it, both ways (stream: %j)', async (stream) => {
    await s.route(`out-${stream}/m`, ['router', 'claude'])
    await s.route(`in-${stream}/m`, ['claude', 'router'])
    s.reply('router', failing)
    const out = await ask(hello(`out-${stream}/m`, { stream }))
    const text = await out.text()
    const answer = stream ? checkOrder(readEvents(text)).response : JSON.parse(text)
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-z]{26}$/),
      model: `out-${stream}/m`,
      output: [{ content: [{ text: 'Hello' }] }],
    })
    expect(out.headers.get('x-gateway-provider')).toBe('claude')

    s.reply('claude', failing)
    s.reply('router', (response) => {
      const whole = { ...RESPONSE, usage: USAGE }
      if (!stream) return answerWith(response, whole)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${JSON.stringify({ type: 'response.completed', response: whole })}\n\n`)
    })
    const back = await ask(hello(`in-${stream}/m`, { stream }))
    expect(await back.text()).toContain('resp_theirs')
    expect(last('router')).toMatchObject({ store: false, input: 'hi' })
  })

  test('what only this API can say goes to a hop that speaks it, or is refused by name', async () => {
    await s.route('either/m', ['claude', 'router'])
    s.reply('router', (response) => answerWith(response, { ...RESPONSE, usage: USAGE }))
    expect((await ask(hello('either/m', { truncation: 'auto' }))).status).toBe(200)
    expect([s.seen('claude').length, s.seen('router').length]).toEqual([0, 1])
    const refused = await ask(hello('claude/m', { truncation: 'auto' }))
    expect([refused.status, ((await refused.json()) as Wire).error]).toMatchObject([
      400,
      { code: 'unsupported_parameter', param: 'truncation' },
    ])
  })
})

describe('the end of a stream', () => {
  const begin = (response: Parameters<Reply>[0], text: string) =>
    frames(response, [{ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] }])

  test('W28: that breaks off is an error to the stock client, and nobody asks again', async () => {
    s.reply('chat', (response) => {
      begin(response, 'Hello there')
      setTimeout(() => response.destroy(), 20)
    })
    const read = async () => {
      for await (const _ of await client.responses.create({ ...hello('chat/m'), stream: true }));
    }
    await expect(read()).rejects.toBeInstanceOf(APIError)
    expect(s.seen('chat')).toHaveLength(1)
    await eventually(async () => (await s.openHolds()) === 0, 'nothing is held')
  })

  test('W28: that fails before its first word has its own status', async () => {
    s.reply('chat', (response) => answerWith(response, { error: { message: 'busy' } }, 503))
    const answer = await ask(hello('chat/m', { stream: true }))
    expect([answer.status, ((await answer.json()) as Wire).error.code]).toEqual([
      502,
      'upstream_error',
    ])
  })

  const activityOf = async (answer: Response): Promise<Wire> => {
    const id = answer.headers.get('x-generation-id') as GenerationId
    let found: Wire
    await eventually(async () => {
      found = await s.deps.store.activity.find(id)
      return found !== undefined
    }, 'it is logged')
    return found
  }

  test('W30: whose reader leaves on response.completed is complete', async () => {
    const stop = new AbortController()
    const answer = await ask(hello('chat/m', { stream: true }), {}, { signal: stop.signal })
    const decoder = new TextDecoder()
    let text = ''
    for await (const piece of answer.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true })
      if (text.includes('response.completed')) break
    }
    stop.abort()
    expect(await activityOf(answer)).toMatchObject({ endedBy: 'completed', status: 200 })
  })

  test('W30: whose reader leaves before that lets the provider go, and pays for what came', async () => {
    s.reply('chat', (response) => begin(response, 'Hello there'))
    const stop = new AbortController()
    const answer = await ask(hello('chat/m', { stream: true }), {}, { signal: stop.signal })
    const reader = answer.body?.getReader()
    await reader?.read()
    stop.abort()
    await reader?.read().catch(() => {})
    await s.socket('chat').aborted(0)
    expect(await activityOf(answer)).toMatchObject({ endedBy: 'client', usageSource: 'estimated' })
    expect(await s.openHolds()).toBe(0)
  })
})

test('a repetition gets the same answer again, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const headers = { 'idempotency-key': `again-${stream}` }
    const first = await (await ask(hello('chat/m', { stream }), headers)).text()
    const again = await ask(hello('chat/m', { stream }), headers)
    expect([again.headers.get('idempotent-replayed'), await again.text()]).toEqual(['true', first])
  }
  expect(s.seen('chat')).toHaveLength(2)
})

test('a demo model answers too', async () => {
  const answer = await client.responses.create({ model: 'demo/echo', input: 'hello there world' })
  expect(answer.output_text).toBe('hello there world')
})
