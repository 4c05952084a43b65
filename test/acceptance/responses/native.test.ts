// `POST /v1/responses` on the binary: what leaves is the client's own text, what is refused never leaves, and every ending is paid once.
import { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activityOf, openHolds, until } from '#test/support/appliance.ts'
import { captures } from '#test/support/surface-recordings.ts'
import { openResponses, type ResponsesGateway, type Script } from './scripted.ts'

let setup: ResponsesGateway
beforeAll(async () => {
  setup = await openResponses()
})
afterAll(async () => await setup?.close())

const USAGE = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 27,
}
const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const BEGUN = { id: 'resp_1', object: 'response', created_at: 1, model: 'm-up', output: [] }
const DONE = { ...BEGUN, status: 'completed', output: [message('Hello')], usage: USAGE }

const frame = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const CREATED = frame('response.created', { response: BEGUN, sequence_number: 0 })
const delta = (text: string, n: number) =>
  frame('response.output_text.delta', { delta: text, output_index: 0, sequence_number: n })
const COMPLETED = frame('response.completed', { response: DONE, sequence_number: 3 })
const STREAM = `${CREATED}: a comment\n\nevent: odd\nid: 7\ndata: not json\n\n${delta('Hello', 2)}${COMPLETED}`

const whole: Script = (response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(DONE))
const streamed: Script = (response) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM)

const body = (more: object = {}) => ({ model: 'openai/m', input: 'hi', ...more })
// biome-ignore lint/suspicious/noExplicitAny: a body as a test reads it
type Wire = any
const sent = () => JSON.parse(setup.asked[0]?.text ?? 'null')

describe('what is sent', () => {
  test('is the text of the client, but for what the gateway decides', async () => {
    setup.play(whole)
    const text =
      '{ "input" : [ {"role":"user","content":"h\\u0069"} ],\n  "mod\\u0065l":"openai/m", "models":["openai/gpt-5"],' +
      '"seed": 1.50, "odd":{"model":"openai/m"}, "provider" : {"only":["openai"]}, "max_output_tokens":1e2 }'
    const answer = await setup.ask(text)
    expect(answer.status).toBe(200)
    expect(setup.asked[0]?.text).toBe(
      '{ "input" : [ {"role":"user","content":"h\\u0069"} ],\n  "mod\\u0065l":"m", ' +
        '"seed": 1.50, "odd":{"model":"openai/m"}, "max_output_tokens":1e2,"store":false }',
    )
    expect(setup.asked[0]?.path).toBe('/v1/responses')
    expect(setup.asked[0]?.headers['authorization']).toBe('Bearer sk-openai-canary')
  })

  test('has encrypted reasoning in it where the model reasons and the client asked for none', async () => {
    setup.play(whole)
    await setup.ask(body({ model: 'openai/gpt-5', include: [], store: true }))
    expect(sent()).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
    setup.play(whole)
    await setup.ask(body({ model: 'openai/gpt-5', include: ['message.output_text.logprobs'] }))
    expect(sent().include).toEqual(['message.output_text.logprobs', 'reasoning.encrypted_content'])
    setup.play(whole)
    await setup.ask(body())
    expect(sent()).not.toHaveProperty('include')
  })

  test('has the bound of the answer where the gateway sets or lowers it', async () => {
    const { key } = await setup.gateway.verb('keys.create', {
      name: 'short',
      max_output_tokens: 50,
    })
    for (const stated of [undefined, 9_000]) {
      setup.play(whole)
      const headers = { authorization: `Bearer ${key}` }
      const answer = await setup.ask(body({ max_output_tokens: stated }), headers)
      expect(sent().max_output_tokens).toBe(50)
      expect(answer.headers.get('x-gateway-max-output-tokens')).toBe('50')
    }
  })

  test('has no header of the client but openai-beta', async () => {
    setup.play(whole)
    await setup.ask(body(), {
      'openai-beta': 'x=1',
      'session-id': 's',
      originator: 'codex_exec',
      'x-codex-window-id': 'w',
      'openai-organization': 'org-1',
      cookie: 'a=b',
    })
    const { headers } = setup.asked[0] ?? {}
    expect(headers).toMatchObject({ 'openai-beta': 'x=1' })
    for (const name of [
      'session-id',
      'originator',
      'x-codex-window-id',
      'openai-organization',
      'cookie',
    ]) {
      expect(headers).not.toHaveProperty(name)
    }
  })

  test('W25: has no reference to reasoning, which the Vercel AI SDK sends by default', async () => {
    setup.play(whole)
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    await setup.ask(body({ input: [{ type: 'item_reference', id: 'rs_1' }, call] }))
    expect(sent().input).toEqual([call])
    setup.play(whole)
    const answer = await setup.ask(body({ input: [{ type: 'item_reference', id: 'msg_1' }, call] }))
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as Wire).error).toMatchObject({
      param: 'input[0]',
      message: expect.stringContaining('store: false'),
    })
  })

  test('W26: is repeated once without reasoning that its provider cannot decrypt', async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
    const asked = body({
      input: [{ role: 'user', content: 'a' }, reasoning, { role: 'user', content: 'b' }],
    })
    const refusal = {
      error: {
        code: 'invalid_encrypted_content',
        message: 'The encrypted content rs_1 could not be verified.',
      },
    }
    const refuse: Script = (response) =>
      void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify(refusal))
    setup.play((response, one, n) => (n === 0 ? refuse : whole)(response, one, n))
    expect((await setup.ask(asked)).status).toBe(200)
    expect(setup.asked.map(({ text }) => JSON.parse(text).input.length)).toEqual([3, 2])
    setup.play(refuse)
    expect((await setup.ask(asked)).status).toBe(400)
    expect(setup.asked).toHaveLength(2)
  })
})

describe('a search of the vendor', () => {
  const fn = { type: 'function', name: 'f', parameters: {} }
  const search = { type: 'web_search', external_web_access: true }
  const searched = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: {} }
  const receiptOf = async (answer: Response): Promise<Wire> => {
    const id = answer.headers.get('x-generation-id')
    const found = await fetch(`${setup.gateway.url}/v1/generation?id=${id}`, {
      headers: { authorization: `Bearer ${setup.key}` },
    })
    return await found.json()
  }
  const answers =
    (answer: object): Script =>
    (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer))

  test('without a price is cut where it is not insisted on, which the receipt says', async () => {
    setup.play(whole)
    const text = JSON.stringify(body({ tools: [search, fn, { type: 'tool_search' }] }))
    const answer = await setup.ask(text)
    expect(sent().tools).toEqual([fn])
    expect(await receiptOf(answer)).toMatchObject({ cut_tools: ['web_search', 'tool_search'] })
    const { out } = setup.cli.run(['activity', 'show', answer.headers.get('x-generation-id') ?? ''])
    expect(out).toContain('cut tools\tweb_search, tool_search\n')
    setup.play(whole)
    const plain = await setup.ask(body({ tools: [fn] }))
    expect(await receiptOf(plain)).toMatchObject({ cut_tools: [] })
  })

  test('with a price is sent as it came, held, and charged as often as it was called', async () => {
    await setup.gateway.verb('models.add', {
      model: 'openai/searching',
      in_usd: '1.25',
      out_usd: '10',
      cached_in_usd: '0.125',
      context_length: 1_000,
      server_tools: { web_search: '10' },
    })
    const asked = { model: 'openai/searching', tools: [search, fn, { type: 'tool_search' }] }
    for (const [more, calls] of [
      [{ output: [searched, searched, message('Hello')] }, 2],
      [{ output: [message('Hello')] }, 0],
      [
        {
          output: [searched, searched, message('Hello')],
          tool_usage: { web_search: { num_requests: 1 } },
        },
        1,
      ],
    ] as const) {
      setup.play(answers({ ...DONE, ...more }))
      const answer = await setup.ask(JSON.stringify(body(asked), null, 1))
      expect(setup.asked[0]?.text).toContain(JSON.stringify(search, null, 1).split('\n')[1])
      expect(sent().tools).toEqual([search, fn])
      await answer.text()
      const row = activityOf(setup.cli, answer.headers.get('x-generation-id') ?? '')
      // The words as elsewhere, and a cent for each search.
      expect(row?.cost_nanos).toBe(90_500 + calls * 10_000_000)
      expect(await receiptOf(answer)).toMatchObject({ cut_tools: ['tool_search'] })
    }
    const quote = async (more: object): Promise<number> => {
      const quoted = await setup.ask(body({ ...more, model: 'openai/searching' }), {
        'x-gateway-dry-run': 'true',
      })
      return Number(((await quoted.json()) as Wire).max_cost_usd)
    }
    const plain = await quote({ tools: [fn] })
    expect((await quote({ tools: [search] })) - plain).toBeGreaterThanOrEqual(0.1)
    const once = await quote({ tools: [search], max_tool_calls: 1 })
    expect(once - plain).toBeGreaterThanOrEqual(0.01)
    expect(once - plain).toBeLessThan(0.1)
    for (const tool of ['web_search', 'web_search_preview', 'web_search_2025_08_26']) {
      setup.play(whole)
      const forced = { model: 'openai/searching', tools: [{ type: tool }], tool_choice: 'required' }
      expect((await setup.ask(body(forced))).status).toBe(200)
      expect(sent().tools).toEqual([{ type: tool }])
    }
  })
})

describe('what is refused', () => {
  test.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ background: true }, 'background'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tools[0].type'],
    [{ tools: [{ type: 'custom', name: 'x' }, { type: 'code_interpreter' }] }, 'tools[1].type'],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }, 'tools[0].type'],
    [{ tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }, 'tools[0].type'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      {
        input: [{ role: 'user', content: [{ type: 'input_file', file_url: 's3://bucket/a.pdf' }] }],
      },
      'input[0].content[0].file_url',
    ],
    [{ input: [{ id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 'input[0]'],
    [{ input: 7 }, 'input'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
  ])('W24: %j names its field and takes nothing', async (more, param) => {
    setup.play(whole)
    const answer = await setup.ask(body(more))
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as Wire).error).toMatchObject({
      type: 'invalid_request_error',
      param,
    })
    expect(setup.asked).toEqual([])
  })

  test('of a model that does not answer in this API only what it has no word for, as chat is of one that answers in this alone', async () => {
    const answer = await setup.ask(body({ model: 'local/m', truncation: 'auto' }))
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as Wire).error).toMatchObject({
      code: 'unsupported_parameter',
      param: 'truncation',
    })
    setup.play(whole)
    expect((await setup.ask(body({ truncation: 'auto' }))).status).toBe(200)
    await setup.gateway.verb('models.add', {
      model: 'local/wired',
      wires: ['responses'],
      in_usd: '1',
      out_usd: '1',
    })
    setup.play(whole)
    expect((await setup.ask(body({ model: 'local/wired' }))).status).toBe(200)
    const chat = await setup.gateway.chat(setup.key, {
      model: 'local/wired',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(chat.status).toBe(200)
    expect(sent()).toHaveProperty('input')
  })
})

describe('an answer', () => {
  test('passes byte for byte, whole and streamed, and is charged by its count', async () => {
    for (const [script, stream, text] of [
      [whole, false, JSON.stringify(DONE)],
      [streamed, true, STREAM],
    ] as const) {
      setup.play(script)
      const answer = await setup.ask(body({ stream }))
      expect(await answer.text()).toBe(text)
      const row = activityOf(setup.cli, answer.headers.get('x-generation-id') ?? '')
      // 16 × 1.25 + 4 × 0.125 + 7 × 10 dollars per million.
      expect(row).toMatchObject({ cost_nanos: 90_500, usage_source: 'provider', status: 200 })
    }
  })

  test('shows its cost to a client that asks for it, and changes nothing else', async () => {
    for (const [script, stream, text] of [
      [whole, false, JSON.stringify(DONE)],
      [streamed, true, STREAM],
    ] as const) {
      setup.play(script)
      const answer = await setup.ask(body({ stream }), { 'x-gateway-usage': '1' })
      const got = await answer.text()
      expect(got).toMatch(/"total_tokens":27,"cost":0\.0000905,"cost_rub":[\d.]+\}/)
      expect(got.replace(/,"cost":0\.0000905,"cost_rub":[\d.]+/, '')).toBe(text)
    }
  })

  test('is read by the stock client', async () => {
    setup.play(whole)
    const client = setup.gateway.client(setup.key)
    const answer = await client.responses.create({ model: 'openai/m', input: 'hi' })
    expect([answer.output_text, answer.usage?.output_tokens]).toEqual(['Hello', 7])
    setup.play((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(CREATED + delta('Hel', 1))
      response.end(delta('lo', 2) + COMPLETED)
    })
    let text = ''
    for await (const event of await client.responses.create({
      model: 'openai/m',
      input: 'hi',
      stream: true,
    })) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect(text).toBe('Hello')
  })

  test('W28: that breaks off is an error to the stock client, and is paid for once', async () => {
    setup.play((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(CREATED + delta('Hello there', 1))
      setImmediate(() => response.destroy())
    })
    const client = setup.gateway.client(setup.key, { maxRetries: 2 })
    const read = async () => {
      for await (const _ of await client.responses.create({
        model: 'openai/m',
        input: 'hi',
        stream: true,
      }));
    }
    await expect(read()).rejects.toBeInstanceOf(APIError)
    expect(setup.asked).toHaveLength(1)
  })

  test('W30: whose reader leaves on response.completed is complete', async () => {
    setup.play(streamed)
    const stop = new AbortController()
    const answer = await setup.ask(body({ stream: true }), {}, { signal: stop.signal })
    const id = answer.headers.get('x-generation-id') ?? ''
    let text = ''
    const decoder = new TextDecoder()
    for await (const piece of answer.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true })
      if (text.includes('response.completed')) break
    }
    stop.abort()
    expect(activityOf(setup.cli, id)).toMatchObject({
      ended_by: 'completed',
      status: 200,
      cost_nanos: 90_500,
    })
  })

  // Of a model that thinks, the provider is read for half a second more: its count does not come.
  test.each(['openai/m', 'openai/gpt-5'])(
    'W30: whose reader leaves before that is let go within a second, and pays for what came: %s',
    async (model) => {
      setup.play((response) => {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write(CREATED + delta('Hello there', 1))
      })
      const stop = new AbortController()
      const answer = await setup.ask(body({ model, stream: true }), {}, { signal: stop.signal })
      const reader = answer.body?.getReader()
      await reader?.read()
      stop.abort()
      await reader?.read().catch(() => {})
      await until(() => setup.asked[0]?.isLeft === true, 'the provider is let go', 1_000)
      const id = answer.headers.get('x-generation-id') ?? ''
      await until(() => activityOf(setup.cli, id) !== undefined, 'it is logged')
      expect(activityOf(setup.cli, id)).toMatchObject({
        ended_by: 'client',
        usage_source: 'estimated',
      })
      expect(openHolds(setup.cli)).toBe(0)
    },
  )

  test('whose reader leaves with its last word pays what was thought before it, once that is counted', async () => {
    const counts = Promise.withResolvers<void>()
    const leave = async (model: string) => {
      setup.play(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(CREATED + delta('Hello', 1))
        await counts.promise
        // Slower than the client leaves, and within the time that the provider is still read.
        setTimeout(() => response.end(COMPLETED), 100)
      })
      const stop = new AbortController()
      const answer = await setup.ask(body({ model, stream: true }), {}, { signal: stop.signal })
      const reader = answer.body?.getReader()
      await reader?.read()
      stop.abort()
      await reader?.read().catch(() => {})
      counts.resolve()
      const id = answer.headers.get('x-generation-id') ?? ''
      await until(() => activityOf(setup.cli, id) !== undefined, 'it is logged', 1_000)
      expect(openHolds(setup.cli)).toBe(0)
      return activityOf(setup.cli, id)
    }
    expect(await leave('openai/gpt-5')).toMatchObject({
      ended_by: 'client',
      status: 499,
      usage_source: 'provider',
      output_tokens: 7,
      cost_nanos: 90_500,
    })
    // One that does not think is let go at once.
    expect(await leave('openai/m')).toMatchObject({ ended_by: 'client', usage_source: 'estimated' })
  })

  test.each<[string, boolean, string, string]>([
    ['one body for a stream', true, 'application/json', JSON.stringify(DONE)],
    [
      'one body under the type of a stream',
      true,
      'text/event-stream',
      JSON.stringify(DONE, null, 1),
    ],
    ['a stream for one body', false, 'text/event-stream', STREAM],
    ['a stream for one body, under its type', false, 'application/json', STREAM],
  ])('that is %s is left for another hop, and else is an error', async (_, stream, type, text) => {
    const misframe =
      (times: number): Script =>
      (response, asked, n) => {
        if (n >= times) return (stream ? streamed : whole)(response, asked, n)
        response.writeHead(200, { 'content-type': type }).end(text)
      }
    setup.play(misframe(1))
    const served = await setup.ask(body({ stream, models: ['openai/gpt-5'] }))
    expect([served.status, await served.text()]).toEqual([
      200,
      stream ? STREAM : JSON.stringify(DONE),
    ])
    setup.play(misframe(9))
    const failed = await setup.ask(body({ stream }))
    expect(failed.status).toBe(502)
    expect(((await failed.json()) as Wire).error.code).toBe('upstream_error')
  })

  test('is given again to a repetition, whole and streamed', async () => {
    for (const [script, stream] of [
      [whole, false],
      [streamed, true],
    ] as const) {
      setup.play(script)
      const headers = { 'idempotency-key': `again-${stream}` }
      const first = await (await setup.ask(body({ stream }), headers)).text()
      const again = await setup.ask(body({ stream }), headers)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.text()).toBe(first)
      expect(setup.asked).toHaveLength(1)
    }
  })

  test('is quoted and not asked for in a dry run', async () => {
    setup.play(whole)
    const quote = await setup.ask(body(), { 'x-gateway-dry-run': 'true' })
    expect(await quote.json()).toMatchObject({ object: 'quote', admitted: true, model: 'openai/m' })
    expect(setup.asked).toEqual([])
  })

  test('comes with rate headers, under /api too', async () => {
    const limited = await setup.gateway.verb('keys.create', { name: 'limited', rpm_limit: 1 })
    const headers = { authorization: `Bearer ${limited.key}` }
    setup.play(whole)
    const first = await setup.ask(body(), headers)
    expect(first.headers.get('x-ratelimit-remaining-minute')).toBe('0')
    const second = await fetch(`${setup.gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body()),
    })
    expect(second.status).toBe(429)
    expect(((await second.json()) as Wire).error.code).toBe('rate_limit_exceeded')
  })

  test('a whole one that failed is an error, and an upstream’s own refusal of its key is the operator’s', async () => {
    setup.play((response) => {
      const failed = { ...BEGUN, status: 'failed', error: { code: 'server_error', message: 'oh' } }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(failed))
    })
    expect((await setup.ask(body())).status).toBe(502)
    setup.play((response) => {
      const error = {
        message: 'Incorrect API key provided: sk-openai-canary',
        code: 'invalid_api_key',
      }
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    const answer = await setup.ask(body())
    expect(answer.status).toBe(502)
    expect(await answer.text()).not.toContain('canary')
  })
})

const sentBy = captures('/v1/responses').filter(({ method }) => method === 'POST')

describe.skipIf(sentBy.length === 0)('a captured request', () => {
  test.each(sentBy)(
    '$name is answered, or refused by name',
    async ({ body: captured, headers }) => {
      setup.play((response, asked, n) =>
        (JSON.parse(asked.text).stream ? streamed : whole)(response, asked, n),
      )
      const { 'content-length': _length, host: _host, connection: _connection, ...others } = headers
      const answer = await setup.ask(
        { ...captured, model: 'openai/gpt-5' },
        { ...others, authorization: `Bearer ${setup.key}` },
      )
      const text = await answer.text()
      const isRefused = ['background', 'previous_response_id'].some((field) =>
        Boolean(captured?.[field]),
      )
      const tools = (captured?.['tools'] ?? []) as { type: string }[]
      const isHosted = tools.some(({ type }) =>
        /file_search|code_interpreter|image_generation|mcp/.test(type),
      )
      expect(answer.status).toBe(isRefused || isHosted ? 400 : 200)
      if (answer.status === 400)
        return expect(JSON.parse(text).error.code).toBe('unsupported_parameter')
      // All but what the gateway decides left as it came.
      const { model: _m, store, include, tools: left = [], input, ...same } = sent()
      const { model: _c, store: _s, include: _i, tools: _t, input: said, ...mine } = captured ?? {}
      expect(same).toEqual(mine)
      expect(store).toBe(false)
      expect(include).toContain('reasoning.encrypted_content')
      expect(left).toEqual(tools.filter(({ type }) => type !== 'web_search'))
      if (typeof said === 'string') expect(input).toBe(said)
      else
        expect(input).toEqual(
          (said as { type?: string }[]).filter(({ type }) => type !== 'item_reference'),
        )
    },
  )
})
