// POST /v1/messages on the compiled binary, before a provider that speaks Anthropic's API: what leaves, what comes back, what it costs.
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import {
  COST,
  frame,
  hello,
  MODEL,
  type NativeGateway,
  openNativeGateway,
  STREAM,
  sayHello,
  WHOLE,
} from './native-gateway.ts'

let setup: NativeGateway

beforeAll(async () => {
  setup = await openNativeGateway()
  await setup.addModel('claude/another', { in_usd: '3', out_usd: '15' })
})
afterAll(() => setup?.close())

const last = () => {
  const seen = setup.seen.at(-1)
  if (!seen) throw new Error('nothing was asked')
  return seen
}

/** The receipt of an answer, once it is written. */
async function receiptOf(response: Response) {
  const id = response.headers.get('x-generation-id') ?? ''
  let found = new Response()
  await until(async () => {
    found = await fetch(`${setup.url}/v1/generation?id=${id}`, {
      headers: { authorization: `Bearer ${setup.key}` },
    })
    return found.status === 200
  }, 'the receipt')
  return ((await found.json()) as { data: Record<string, unknown> }).data
}

// biome-ignore lint/suspicious/noExplicitAny: an error of either family
const errorOf = async (response: Response): Promise<any> => await response.json()

describe('what leaves', () => {
  test('the body byte for byte, but the model and our own fields', async () => {
    const { key: _, ...rest } = { key: '', ...hello() }
    const text = `{ "model" : "${MODEL}",\n"models":["nobody/else"], "max_tokens": 1e2, "provider":{"only":["claude"]},"temperature":1.0,
      "unknown":{"model":"kept", "n": 12345678901234567890}, "messages": ${JSON.stringify(rest.messages)}, "allow_fallbacks":true }`
    expect((await setup.ask(text)).status).toBe(200)
    expect(last().text).toBe(
      text
        .replace(`"${MODEL}"`, '"claude-sonnet-4-5"')
        .replace('"models":["nobody/else"], ', '')
        .replace('"provider":{"only":["claude"]},', '')
        .replace(', "allow_fallbacks":true', ''),
    )
  })

  test.each([1, 1_000])('no thought without a signature (words of %i)', async (times) => {
    const text = 'a word '.repeat(times)
    const thought = { type: 'thinking', thinking: text, signature: '' }
    const signed = { type: 'thinking', thinking: text, signature: 'c2ln'.repeat(times) }
    const said = { type: 'text', text }
    const ask = (...messages: readonly object[]): string =>
      `{"model": "${MODEL}","max_tokens":1e2, "n": 12345678901234567890,"messages":${JSON.stringify(messages)}}`
    const user = { role: 'user', content: text }
    const answer = (...content: readonly object[]) => ({ role: 'assistant', content })
    const body = ask(user, answer(thought, signed, said), user, answer(thought), user)
    expect((await setup.ask(body)).status).toBe(200)
    expect(last().text).toBe(
      ask(user, answer(signed, said), user, user).replace(MODEL, 'claude-sonnet-4-5'),
    )
  })

  test('a bound where the client states none, and where the key or the model has a lower one', async () => {
    await setup.ask(JSON.stringify({ model: MODEL, messages: hello().messages }))
    expect(last().body['max_tokens']).toBe(64_000)
    await setup.ask(hello({ max_tokens: 200_000 }))
    expect(last().text).toBe(
      JSON.stringify(hello({ max_tokens: 64_000, model: 'claude-sonnet-4-5' })),
    )
    const short = await setup.issue({ max_output_tokens: 10 })
    const answer = await setup.ask(hello(), { authorization: `Bearer ${short}` })
    expect(answer.headers.get('x-gateway-max-output-tokens')).toBe('10')
    expect(last().body['max_tokens']).toBe(10)
  })

  test('W18: versions and betas, and of all other headers none', async () => {
    await setup.ask(hello(), {
      'anthropic-version': '2026-10-21',
      'anthropic-beta':
        'context-1m-2025-08-07, oauth-2025-04-20,message-threads-2026-08-12,effort-2025-11-24',
      'x-api-key': 'sk-ant-of-the-client',
      cookie: 'a=b',
      'x-stainless-lang': 'js',
      'x-claude-code-session-id': 'one',
      'x-forwarded-for': '10.0.0.1',
      'user-agent': 'claude-cli/2',
      'anthropic-dangerous-direct-browser-access': 'true',
    })
    const { headers } = last()
    expect(headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'context-1m-2025-08-07,effort-2025-11-24',
      'x-api-key': 'sk-ant-operator',
    })
    expect(Object.keys(headers).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'anthropic-beta',
      'anthropic-version',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'x-api-key',
      'x-request-id',
    ])
    expect(headers['user-agent']).toMatch(/^gatewayctl/)
    await setup.ask(hello(), { 'anthropic-version': '' })
    expect(last().headers['anthropic-beta']).toBeUndefined()
  })
})

describe('what comes back', () => {
  test('a whole answer byte for byte, and what it cost only in the receipt', async () => {
    const answer = await setup.ask(hello())
    expect(await answer.text()).toBe(WHOLE)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'request-id': answer.headers.get('x-request-id'),
      'x-upstream-request-id': 'req_of_the_provider',
    })
    expect([...answer.headers.keys()].filter((name) => name.startsWith('anthropic-'))).toEqual([])
    const receipt = await receiptOf(answer)
    expect(Number(receipt['total_cost'])).toBe(COST)
  })

  test('a stream byte for byte, ping included', async () => {
    const answer = await setup.ask(hello({ stream: true }))
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(await answer.text()).toBe(STREAM.join(''))
    const receipt = await receiptOf(answer)
    expect(Number(receipt['total_cost'])).toBe(COST)
  })

  test('message_stop comes after the receipt', async () => {
    const answer = await setup.ask(hello({ stream: true }))
    const reader = answer.body?.getReader()
    const decoder = new TextDecoder()
    let text = ''
    while (reader && !text.includes('message_stop')) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
    const found = await fetch(
      `${setup.url}/v1/generation?id=${answer.headers.get('x-generation-id')}`,
      { headers: { authorization: `Bearer ${setup.key}` } },
    )
    expect(found.status).toBe(200)
    await reader?.cancel()
  })

  test.each([false, true])(
    'X-Gateway-Usage: 1 puts the cost beside the counts, stream: %j',
    async (stream) => {
      const answer = await setup.ask(hello({ stream }), { 'x-gateway-usage': '1' })
      const text = await answer.text()
      const cost = `,"cost":${COST},"cost_rub":`
      expect(text).toContain(cost)
      expect(text.replace(/,"cost":[\d.]+,"cost_rub":[\d.]+/, '').replace(' } }', '} }')).toBe(
        stream ? STREAM.join('') : WHOLE.replace(' } }', '} }').replace('} }', '} }'),
      )
    },
  )

  test('silence is filled with pings, between frames only', async () => {
    const held = Promise.withResolvers<void>()
    setup.answer(async (response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(`${STREAM.slice(0, 4).join('')}event: content_block_stop\nda`)
      await held.promise
      response.end(`ta: {"type":"content_block_stop","index":0}\n\n${STREAM.slice(5).join('')}`)
    })
    const answer = await setup.ask(hello({ stream: true }))
    const decoder = new TextDecoder()
    let text = ''
    const pings = () => text.split('event: ping').length - 1
    for await (const piece of answer.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true })
      if (pings() === 2) held.resolve()
    }
    setup.answer(sayHello)
    expect(text.replace('event: ping\ndata: {"type": "ping"}\n\n', '')).toBe(STREAM.join(''))
  })
})

describe('failures', () => {
  const overloaded = frame({
    type: 'error',
    ...{ error: { type: 'overloaded_error', message: 'x' } },
  })

  test('after the first byte: an error event, then the end, never a cut', async () => {
    for (const end of ['error', 'cut'] as const) {
      setup.answer((response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(STREAM.slice(0, 4).join(''))
        if (end === 'error') response.end(overloaded)
        else setTimeout(() => response.destroy(), 50)
      })
      const answer = await setup.ask(hello({ stream: true, allow_fallbacks: end === 'cut' }))
      const text = await answer.text()
      expect(text.startsWith(STREAM.slice(0, 4).join(''))).toBe(true)
      const rest = text.slice(STREAM.slice(0, 4).join('').length)
      expect(rest).toMatch(/^event: error\ndata: \{"type":"error",.*\}\n\n$/)
      expect(JSON.parse(rest.slice(rest.indexOf('{')))).toMatchObject({
        error: { type: 'api_error', details: { code: 'upstream_error' } },
        request_id: answer.headers.get('x-request-id'),
      })
    }
    setup.answer(sayHello)
  })

  const EVENTS = 'text/event-stream'
  const JSON_TYPE = 'application/json'
  test.each<[string, boolean, string, string]>([
    ['one body for a stream', true, JSON_TYPE, WHOLE],
    ['one body under the type of a stream', true, EVENTS, WHOLE],
    ['one body with blank lines under the type of a stream', true, EVENTS, `${WHOLE}\n\n`],
    ['a page for a stream', true, 'text/html', '<p>busy</p>\n\n'],
    ['a page under the type of a stream', true, EVENTS, '<p>busy</p>\n\n'],
    ['a stream under the type of one body', true, JSON_TYPE, STREAM.join('')],
    ['a stream for one body', false, EVENTS, STREAM.join('')],
    ['a stream for one body, under its type', false, JSON_TYPE, STREAM.join('')],
  ])('%s is left for another hop, and else is an error', async (_, stream, type, text) => {
    let asked = 0
    const misframe = (times: number): void => {
      asked = 0
      setup.answer((response, one) => {
        if (asked++ >= times) sayHello(response, one)
        else response.writeHead(200, { 'content-type': type }).end(text)
      })
    }
    misframe(1)
    const served = await setup.ask(hello({ stream, models: ['claude/another'] }))
    expect(served.status).toBe(200)
    expect(await served.text()).toBe(stream ? STREAM.join('') : WHOLE)
    expect(asked).toBe(2)
    misframe(9)
    const failed = await setup.ask(hello({ stream }))
    expect(failed.status).toBe(502)
    expect(await errorOf(failed)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    setup.answer(sayHello)
  })

  test('an error in one body where a stream was asked for keeps its reason', async () => {
    const type = 'invalid_request_error'
    setup.answer((response) => {
      const body = { type: 'error', error: { type, message: 'the prompt was filtered' } }
      response.writeHead(200, { 'content-type': JSON_TYPE }).end(JSON.stringify(body))
    })
    const answer = await setup.ask(hello({ stream: true }))
    expect(answer.status).toBe(400)
    expect((await errorOf(answer)).error.message).toContain('the prompt was filtered')
    setup.answer(sayHello)
  })

  test.each(['text/plain', ''])(
    'a stream of the type "%s" is one where it was asked for',
    async (type) => {
      setup.answer((response) => {
        if (type !== '') response.setHeader('content-type', type)
        response.end(STREAM.join(''))
      })
      expect(await (await setup.ask(hello({ stream: true }))).text()).toBe(STREAM.join(''))
      setup.answer(sayHello)
    },
  )

  test.each([
    [400, 'invalid_request_error', 400, 'invalid_request_error', 'messages: roles must alternate'],
    [404, 'not_found_error', 400, 'invalid_request_error', 'model: x'],
    [401, 'authentication_error', 502, 'api_error', undefined],
    [402, 'billing_error', 502, 'api_error', undefined],
    [403, 'permission_error', 502, 'api_error', undefined],
    [429, 'rate_limit_error', 529, 'overloaded_error', undefined],
    [529, 'overloaded_error', 529, 'overloaded_error', undefined],
    [500, 'api_error', 502, 'api_error', undefined],
  ] as const)(
    'a provider that answers %i %s: %i %s',
    async (theirs, type, ours, named, message) => {
      setup.answer((response) => {
        response.statusCode = theirs
        response.setHeader('content-type', 'application/json')
        response.setHeader('request-id', 'req_x')
        response.end(
          JSON.stringify({ type: 'error', error: { type, message: message ?? 'secret' } }),
        )
      })
      const answer = await setup.ask(hello())
      setup.answer(sayHello)
      const { error } = await errorOf(answer)
      expect([answer.status, error.type]).toEqual([ours, named])
      if (message !== undefined) expect(error.message).toBe(message)
      expect(error.details.provider).toBe('claude')
      expect(answer.headers.get('x-upstream-request-id')).toBe('req_x')
      if (ours === 529) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      // A provider that fails rests for a while; this one is asked by the next test.
      await until(async () => (await setup.ask(hello())).status === 200, 'it serves again')
    },
  )
})

describe('refused before the walk', () => {
  const file = { type: 'file', file_id: 'file_1' }
  const block = (content: object) => hello({ messages: [{ role: 'user', content: [content] }] })
  test.each([
    ['container', hello({ container: 'c' }), 'container'],
    ['mcp_servers', hello({ mcp_servers: [] }), 'mcp_servers'],
    ['fallbacks', hello({ fallbacks: [{ model: 'x' }] }), 'fallbacks'],
    ['service_tier', hello({ service_tier: 'priority' }), 'service_tier'],
    ['speed', hello({ speed: 'fast' }), 'speed'],
    ['a file', block({ type: 'document', source: file }), 'messages[0].content[0].source.file_id'],
    [
      'a file in a result',
      block({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: file }] }),
      'messages[0].content[0].content[0].source.file_id',
    ],
    [
      "a document in the operator's bucket",
      block({ type: 'document', source: { type: 'url', url: 's3://bucket/a.pdf' } }),
      'messages[0].content[0].source.url',
    ],
    ['an answer', hello({ previous_response_id: 'resp_1' }), 'previous_response_id'],
    [
      'an upload',
      block({ type: 'container_upload', file_id: 'f' }),
      'messages[0].content[0].file_id',
    ],
    [
      'W17: a search',
      hello({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }] }),
      'tools[0].type',
    ],
    [
      'an hour of caching',
      hello({
        system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      }),
      'system[0].cache_control.ttl',
    ],
    [
      'an hour of caching of a tool',
      hello({ tools: [{ name: 'x', input_schema: {}, cache_control: { ttl: '1h' } }] }),
      'tools[0].cache_control.ttl',
    ],
  ])('%s', async (_, body, param) => {
    const asked = setup.seen.length
    const answer = await setup.ask(body)
    expect([answer.status, (await errorOf(answer)).error]).toMatchObject([
      400,
      { type: 'invalid_request_error', details: { code: 'unsupported_parameter', param } },
    ])
    expect(setup.seen.length).toBe(asked)
  })

  test('W21: a thread, in words by which the SDK sends the whole history', async () => {
    const { error } = await errorOf(await setup.ask(hello({ thread: { type: 'create' } })))
    expect(error).toMatchObject({
      type: 'invalid_request_error',
      details: { error_code: 'thread_unsupported_request', unsupported: ['gateway'] },
    })
  })

  test('client tools with a type are passed on', async () => {
    const tools = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'custom', name: 'x', input_schema: { type: 'object' } },
      { name: 'y', input_schema: { type: 'object' } },
    ]
    expect((await setup.ask(hello({ tools }))).status).toBe(200)
  })
})

describe('W22: who calls', () => {
  const ask = (headers: Record<string, string>, path = '/v1/messages') =>
    fetch(setup.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(hello()),
    })

  test('by bearer, and by x-api-key where there is none', async () => {
    const { key } = setup
    expect((await ask({ 'x-api-key': key })).status).toBe(200)
    expect((await ask({ 'x-api-key': key }, '/api/v1/messages?beta=true')).status).toBe(200)
    expect(
      (await ask({ authorization: `Bearer ${key}`, 'x-api-key': 'sk-ant-other' })).status,
    ).toBe(200)
    expect((await ask({ authorization: 'Bearer sk-other', 'x-api-key': key })).status).toBe(401)
    expect((await ask({ authorization: 'Basic eA==', 'x-api-key': key })).status).toBe(401)
    expect((await ask({})).status).toBe(401)
    expect((await ask({ cookie: `x-api-key=${key}` })).status).toBe(401)
  })

  test('elsewhere x-api-key is no key', async () => {
    const { key, url } = setup
    for (const path of ['/v1/models', '/v1/key', '/v1/models?x=/v1/messages']) {
      const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
      expect((await fetch(url + path, { headers })).status).toBe(401)
    }
    expect((await ask({ 'x-api-key': key }, '/v1/chat/completions')).status).toBe(401)
  })
})

describe("with Anthropic's SDK", () => {
  const open = () => new Anthropic({ apiKey: setup.key, baseURL: setup.url, maxRetries: 0 })

  test('a message, a stream, models and an error', async () => {
    const client = open()
    const message = await client.messages.create(hello() as never)
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello ✓' }] })
    expect(message._request_id).toMatch(/^req_/)
    const streamed = await client.messages.stream(hello() as never).finalMessage()
    expect(streamed).toMatchObject({
      content: [{ text: 'Hello ✓' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 7, output_tokens: 5 },
    })
    await expect(client.messages.create(hello({ model: 'claude/none' }) as never)).rejects.toThrow(
      Anthropic.NotFoundError,
    )
    setup.answer((response) => {
      response.statusCode = 529
      response.end('{"type":"error","error":{"type":"overloaded_error","message":"x"}}')
    })
    await expect(client.messages.create(hello() as never)).rejects.toMatchObject({ status: 529 })
    setup.answer(sayHello)
    await until(async () => (await setup.ask(hello())).status === 200, 'it serves again')
  })

  test('models, a page at a time, and one', async () => {
    const client = open()
    const ids: string[] = []
    for await (const { id, type, created_at } of client.models.list({ limit: 2 })) {
      expect([type, Number.isNaN(Date.parse(created_at))]).toEqual(['model', false])
      ids.push(id)
    }
    expect(ids).toContain(MODEL)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(2)
    expect(await client.models.retrieve(MODEL)).toMatchObject({ id: MODEL, max_tokens: 64_000 })
    const [, , third = ''] = ids
    const before = await client.models.list({ limit: 1, before_id: third })
    expect(before.data.map(({ id }) => id)).toEqual([ids[1] ?? ''])
    await expect(client.models.list({ limit: 1_001 })).rejects.toThrow(/limit/)
    await expect(client.models.list({ after_id: 'no/model' })).rejects.toThrow(/after_id/)
    await expect(client.models.list({ before_id: 'no/model' })).rejects.toThrow(/before_id/)
  })
})

test('a client that hangs up: the provider is cancelled, what was produced is charged', async () => {
  setup.answer((response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.write(STREAM.slice(0, 4).join(''))
  })
  const n = setup.seen.length
  const leaving = new AbortController()
  const answer = await fetch(`${setup.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': setup.key, 'content-type': 'application/json' },
    body: JSON.stringify(hello({ stream: true })),
    signal: leaving.signal,
  })
  await answer.body?.getReader().read()
  leaving.abort()
  await setup.aborted(n)
  setup.answer(sayHello)
  const receipt = await receiptOf(answer)
  expect(Number(receipt['total_cost'])).toBeGreaterThan(0)
})

test('a revoked key fails with the next request', async () => {
  const { key, id } = await setup.gateway.verb('keys.create', { name: 'gone' })
  const headers = { authorization: `Bearer ${key}` }
  expect((await setup.ask(hello(), headers)).status).toBe(200)
  await setup.gateway.verb('keys.revoke', { key: id })
  const refused = await setup.ask(hello(), headers)
  expect([refused.status, (await errorOf(refused)).error.details.code]).toEqual([
    401,
    'api_key_revoked',
  ])
})

test.each([false, true])(
  'the same Idempotency-Key: the same bytes, charged once, stream: %j',
  async (stream) => {
    const headers = { 'idempotency-key': `once-${stream}` }
    const asked = setup.seen.length
    const first = await setup.ask(hello({ stream }), headers)
    const text = await first.text()
    const again = await setup.ask(hello({ stream }), headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await again.text()).toBe(text)
    expect(setup.seen.length).toBe(asked + 1)
    const other = await setup.ask(hello({ stream, max_tokens: 99 }), headers)
    expect([other.status, (await errorOf(other)).error.type]).toEqual([409, 'conflict_error'])
  },
)

test('a dry run asks nobody', async () => {
  const asked = setup.seen.length
  const answer = await setup.ask(hello(), { 'x-gateway-dry-run': 'true' })
  expect(await answer.json()).toMatchObject({ object: 'quote', admitted: true })
  expect(setup.seen.length).toBe(asked)
})

test('limits: rate headers, 429 with retry-after, 402 that is not to be repeated', async () => {
  const headers = { authorization: `Bearer ${await setup.issue({ rpm_limit: 1 })}` }
  const first = await setup.ask(hello(), headers)
  expect(first.headers.get('x-ratelimit-remaining-minute')).toBe('0')
  const limited = await setup.ask(hello(), headers)
  expect([limited.status, (await errorOf(limited)).error.type]).toEqual([429, 'rate_limit_error'])
  expect(limited.headers.get('retry-after')).toMatch(/^\d+$/)
  const poor = {
    authorization: `Bearer ${await setup.issue({ daily_spend_limit_usd: '0.000001' })}`,
  }
  // One may begin; what it spent is beyond the ceiling.
  await receiptOf(await setup.ask(hello(), poor))
  const broke = await setup.ask(hello(), poor)
  expect([broke.status, (await errorOf(broke)).error.type]).toEqual([402, 'billing_error'])
  expect(broke.headers.get('x-should-retry')).toBe('false')
})

test('the end user of Claude Code is the account, and the session is no part of it', async () => {
  const user_id = JSON.stringify({ device_id: 'd-1', account_uuid: 'a-1', session_id: 's-1' })
  const receipt = await receiptOf(await setup.ask(hello({ metadata: { user_id } })))
  expect(receipt['external_user']).toBe('a-1')
})

describe('W19: count_tokens', () => {
  const count = (body: unknown, headers = {}) =>
    setup.ask(body, headers, '/v1/messages/count_tokens?beta=true')

  test("the provider's own count, byte for byte", async () => {
    setup.answer((response, { path }) => {
      response.setHeader('content-type', 'application/json')
      response.end(path === '/v1/messages/count_tokens' ? '{ "input_tokens" : 588 }' : '{}')
    })
    const { max_tokens: _, ...body } = hello({ tools: [] })
    const answer = await count(body, { 'anthropic-beta': 'token-counting-2024-11-01' })
    setup.answer(sayHello)
    expect([answer.status, await answer.text()]).toEqual([200, '{ "input_tokens" : 588 }'])
    expect(last().body).toEqual({ ...body, model: 'claude-sonnet-4-5' })
    expect(last().headers['anthropic-beta']).toBe('token-counting-2024-11-01')
  })

  test.each([404, 500])('an estimate where the provider answers %i', async (status) => {
    setup.answer((response) => {
      response.statusCode = status
      response.end('{}')
    })
    const answer = await count(hello())
    setup.answer(sayHello)
    expect(answer.status).toBe(200)
    expect((await answer.json()) as object).toEqual({ input_tokens: expect.any(Number) })
  })

  test('an estimate for a model of another API', async () => {
    const answer = await count(hello({ model: 'demo/echo' }))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { input_tokens: expect.any(Number) },
    ])
  })

  test('at a spent ceiling, without money, window or line in the log', async () => {
    const key = await setup.issue({ daily_spend_limit_usd: '0.000001', rpm_limit: 1 })
    for (let n = 0; n < 3; n++) {
      const answer = await count(hello({ model: 'demo/echo' }), { authorization: `Bearer ${key}` })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ratelimit-remaining-minute')).toBe('1')
      expect(answer.headers.get('x-generation-id')).toBeNull()
    }
  })

  test('32 at once for a key, and no more', async () => {
    const held = Promise.withResolvers<void>()
    setup.answer(async (response) => {
      await held.promise
      response.end('{"input_tokens":1}')
    })
    const headers = { authorization: `Bearer ${await setup.issue()}` }
    const asked = setup.seen.length
    const running = Array.from({ length: 32 }, () => count(hello(), headers))
    await until(async () => setup.seen.length === asked + 32, 'all are asked')
    const refused = await count(hello(), headers)
    held.resolve()
    expect([refused.status, (await errorOf(refused)).error.details.limit]).toEqual([
      429,
      'counts_at_once',
    ])
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(32).fill(200))
    setup.answer(sayHello)
    expect((await count(hello({ model: 'demo/echo' }), headers)).status).toBe(200)
  })
})

test('HEAD / and GET / are empty, without a key', async () => {
  for (const method of ['HEAD', 'GET']) {
    const answer = await fetch(setup.url, { method })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  }
})

test.each([
  ['/v1/messages/batches', 'batches'],
  ['/v1/files', 'content'],
  ['/v1/responses/resp_1', 'conversation'],
  ['/v1/conversations', 'conversation'],
  ['/v1/images/generations', 'modalities'],
  ['/v1/audio/speech', 'chat/completions'],
  ['/v1/moderations', 'chat/completions'],
  ['/v1/responses/input_tokens', 'count_tokens'],
  ['/v2/rerank', 'version 1'],
  ['/v1/completions', 'chat/completions'],
])('%s is 404 and names what is served: %s', async (path, words) => {
  const answer = await setup.ask({}, { 'anthropic-version': '' }, path)
  expect(answer.status).toBe(404)
  expect(JSON.stringify(await answer.json())).toContain(words)
})

test('a WebSocket for responses is refused at once, in JSON', async () => {
  const answer = await fetch(`${setup.url}/v1/responses`, { headers: { upgrade: 'websocket' } })
  expect([answer.status, (await errorOf(answer)).error.code]).toEqual([
    426,
    'websocket_not_supported',
  ])
})
