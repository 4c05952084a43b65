// A streamed answer: the order of its chunks, its delayed headers, its errors before and after the first content.
import { describe, expect, test } from 'vitest'
import type { ChatEvent, ChatEvents } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { ApiDeps } from '#http/deps.ts'
import { DEFAULT_TIMINGS, type Timings } from '#http/timings.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'
import { readSse } from '#test/support/read-sse.ts'
import {
  eventually,
  finish,
  never,
  type Script,
  script,
  text,
  until,
} from '#test/support/scripted-upstream.ts'

async function open(
  played: Script,
  timings: Partial<Timings> = {},
  changes: Partial<ApiDeps> = {},
) {
  const deps = await furnish()
  const key = await deps.issue({ rpm: 10, rpd: 20 })
  const api = openApi(deps, {
    upstream: played.upstream,
    timings: { ...DEFAULT_TIMINGS, ...timings },
    ...changes,
  })
  return {
    ...api,
    store: deps.store,
    ask: (more = {}, headers = {}) =>
      api.chat(key.bearer, hello({ stream: true, ...more }), headers),
    openHolds: async () => (await deps.store.health({ checkIntegrity: false })).openHolds,
  }
}

const says = (...batches: readonly ChatEvents[]) =>
  script(async function* () {
    yield* batches
  })

const USAGE = { type: 'usage', usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 15 } } as const

describe('a complete stream', () => {
  test('has role, deltas, finish, usage and [DONE], in that order and under one id', async () => {
    const { ask } = await open(says([text('Hel')], [text('lo')], [finish(), USAGE]))
    const response = await ask({}, { 'X-Request-Id': 'mine:1' })
    expect(response.status).toBe(200)
    const { chunks, done, text: said } = readSse(await response.text())
    expect(said).toBe('Hello')
    expect(done).toBe(true)
    expect(
      chunks.map(({ choices, usage }) => [choices[0]?.delta, choices[0]?.finish_reason, !!usage]),
    ).toEqual([
      [{ role: 'assistant', content: '' }, null, false],
      [{ content: 'Hel' }, null, false],
      [{ content: 'lo' }, null, false],
      [{}, 'stop', false],
      [undefined, undefined, true],
    ])
    expect(chunks[3]?.choices[0]?.native_finish_reason).toBe('end_turn')
    expect(
      new Set(
        chunks.map(
          ({ id, created, model, object, provider }) =>
            `${id} ${created} ${model} ${object} ${provider}`,
        ),
      ).size,
    ).toBe(1)
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      model: 'demo/echo',
      provider: 'demo',
      id: response.headers.get('x-generation-id'),
    })
    expect(chunks.at(-1)?.usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 15,
      total_tokens: 25,
      images: 0,
      cost: 0.00004,
      cost_rub: 0.0036,
      cost_details: {
        source: 'provider',
        rub_per_usd: '90',
        prompt_usd: '0.00001',
        completion_usd: '0.00003',
      },
    })
  })

  test('has these headers', async () => {
    const { ask } = await open(says([text('x'), finish()]))
    const { headers } = await ask({}, { 'X-Request-Id': 'mine:1' })
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': 'mine:1',
      'x-ratelimit-limit-minute': '10',
      'x-ratelimit-remaining-minute': '9',
      'x-ratelimit-reset-minute': '60',
      'x-ratelimit-limit-day': '20',
      'x-ratelimit-remaining-day': '19',
      'x-ratelimit-reset-day': '86400',
    })
  })

  test('has no usage chunk when the client opts out', async () => {
    const { ask } = await open(says([text('x'), finish()]))
    const { chunks, done } = readSse(
      await (await ask({ stream_options: { include_usage: false } })).text(),
    )
    expect(chunks.filter(({ usage }) => usage)).toEqual([])
    expect(done).toBe(true)
  })

  test('has one role and one finish per choice, however often the provider repeats it', async () => {
    const { ask } = await open(
      says([text('a', 0), text('b', 1)], [finish(0), finish(0)], [text('c', 1), finish(1)]),
    )
    const { chunks } = readSse(await (await ask({ n: 2 })).text())
    for (const index of [0, 1]) {
      const own = chunks
        .flatMap(({ choices }) => choices)
        .filter((choice) => choice.index === index)
      expect(own[0]?.delta).toEqual({ role: 'assistant', content: '' })
      expect(own.filter((choice) => choice.finish_reason !== null)).toHaveLength(1)
    }
  })

  test('carries tool calls, reasoning, refusals and unknown fields', async () => {
    const { ask } = await open(
      says(
        [{ type: 'answer-fields', fields: { system_fingerprint: 'fp', id: 'theirs' } }],
        [{ type: 'reasoning-delta', choice: 0, text: 'hm' }],
        [
          {
            type: 'tool-call-delta',
            choice: 0,
            index: 0,
            id: 'c1',
            name: 'f',
            kind: 'function',
            arguments: '',
          },
        ],
        [{ type: 'tool-call-delta', choice: 0, index: 0, kind: 'function', arguments: '{"a"' }],
        [
          {
            type: 'tool-call-delta',
            choice: 0,
            index: 1,
            id: 'c2',
            name: 'g',
            kind: 'custom',
            arguments: 'raw',
            fields: { extra: 1 },
          },
        ],
        [{ type: 'message-fields', choice: 0, fields: { annotations: [1] } }],
        [{ type: 'refusal-delta', choice: 0, text: 'no' }],
        [finish()],
      ),
    )
    const { chunks } = readSse(await (await ask()).text())
    expect(chunks[0]?.['system_fingerprint']).toBe('fp')
    expect(chunks[0]?.id).toMatch(/^gen-/)
    expect(chunks.slice(1, -2).map(({ choices }) => choices[0]?.delta)).toEqual([
      { reasoning: 'hm', reasoning_content: 'hm' },
      {
        tool_calls: [
          { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      {
        tool_calls: [
          { extra: 1, index: 1, id: 'c2', type: 'custom', custom: { name: 'g', input: 'raw' } },
        ],
      },
      { annotations: [1] },
      { refusal: 'no' },
    ])
  })

  test('escapes text that could end a line or a string', async () => {
    const words = 'a"b\\c\n\ndata: [DONE]\r\n\u2028é🙂'
    const { ask } = await open(says([text(words), finish()]))
    expect(readSse(await (await ask()).text()).text).toBe(words)
  })
})

describe('failure', () => {
  test('before any content is an error status with the rate headers', async () => {
    const played = script(
      async function* () {},
      async () => {
        throw new UpstreamFailure('overloaded', 'busy', { status: 529, retryAfterSeconds: 9 })
      },
    )
    const { ask, openHolds } = await open(played)
    const response = await ask()
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('9')
    expect(response.headers.get('x-ratelimit-remaining-minute')).toBe('9')
    expect(await response.json()).toMatchObject({
      error: { code: 'upstream_overloaded', type: 'api_error' },
    })
    expect(await openHolds()).toBe(0)
  })

  test('after content is an error chunk, then usage, then [DONE]', async () => {
    const played = script(async function* () {
      yield [text('some words')]
      throw new UpstreamFailure('failed', 'it broke')
    })
    const { ask } = await open(played)
    const response = await ask({}, { 'X-Request-Id': 'mine' })
    expect(response.status).toBe(200)
    const { chunks, done } = readSse(await response.text())
    expect(done).toBe(true)
    expect(chunks.at(-2)).toMatchObject({
      error: { code: 'upstream_error', type: 'api_error', param: null },
      request_id: 'mine',
      choices: [{ index: 0, finish_reason: 'error' }],
    })
    expect(chunks.at(-1)?.usage).toMatchObject({ cost_details: { source: 'estimated' } })
    expect(chunks.at(-1)?.usage?.['completion_tokens']).toBeGreaterThan(0)
  })

  test('after the headers were sent without content is an error chunk, and is not charged', async () => {
    let fail: (error: Error) => void = () => {}
    const failing = new Promise<never>((_, reject) => {
      fail = reject
    })
    const played = script(
      async function* () {},
      () => failing,
    )
    const { ask, store, openHolds } = await open(played, { headerWaitMs: 20, keepAliveMs: 30 })
    const response = await ask()
    expect(response.status).toBe(200)
    setTimeout(() => fail(new UpstreamFailure('timeout', 'too late')), 100)
    const { chunks, comments, done } = readSse(await response.text())
    expect(comments.length).toBeGreaterThan(0)
    expect(chunks[0]).toMatchObject({
      id: response.headers.get('x-generation-id'),
      error: { code: 'upstream_timeout' },
      choices: [{ finish_reason: 'error' }],
    })
    expect(chunks[1]).toMatchObject({ choices: [], usage: { total_tokens: 0, cost: 0 } })
    expect(done).toBe(true)
    expect(await openHolds()).toBe(0)
    expect((await store.activity.list({ limit: 1 }))[0]).toMatchObject({ cost: 0n, status: 504 })
  })
})

describe('an event that cannot be serialized', () => {
  const endless: Record<string, unknown> = {}
  endless['x'] = endless
  const unsayable: ChatEvent = { type: 'message-fields', choice: 0, fields: endless }

  test('ends the request: what arrived is charged and reported, and no hold or slot remains', async () => {
    const played = script(async function* (call) {
      yield [text('some words that were read')]
      yield [unsayable]
      yield [text('never')]
      await until(never, call)
    })
    const { ask, store, openHolds, running } = await open(played)
    const { chunks, done, text: said } = readSse(await (await ask()).text())
    expect(said).toBe('some words that were read')
    expect(done).toBe(true)
    expect(chunks.at(-2)).toMatchObject({ error: { code: 'internal_error' } })
    expect(chunks.at(-1)?.usage?.['cost']).toBeGreaterThan(0)
    expect(await openHolds()).toBe(0)
    expect(running.count).toBe(0)
    const [line] = await store.activity.list({ limit: 1 })
    expect(line).toMatchObject({ endedBy: 'gateway', status: 500 })
    expect(line?.cost).toBeGreaterThan(0n)
  })

  test('is reported at the end of the stream too, where nothing is left to abort', async () => {
    const played = script(async function* () {
      yield [text('all of it')]
      yield [unsayable, finish()]
    })
    const { ask, openHolds, running } = await open(played)
    const { chunks, done } = readSse(await (await ask()).text())
    expect(done).toBe(true)
    expect(chunks.at(-2)).toMatchObject({ error: { code: 'internal_error' } })
    expect(chunks.at(-1)?.usage?.['cost']).toBeGreaterThan(0)
    expect([await openHolds(), running.count]).toEqual([0, 0])
  })

  test('before the headers is an error status, and is settled too', async () => {
    const played = script(async function* (call) {
      yield [unsayable]
      await until(never, call)
    })
    const { ask, openHolds, running } = await open(played)
    const response = await ask()
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } })
    expect(await openHolds()).toBe(0)
    expect(running.count).toBe(0)
  })
})

test('a pause between two words is filled with SSE comments', async () => {
  const { promise: filled, resolve: fill } = Promise.withResolvers<void>()
  const played = script(async function* (call) {
    yield [text('one')]
    await until(filled, call)
    yield [text('two'), finish()]
  })
  const { ask } = await open(played, { keepAliveMs: 25 })
  const response = await ask()
  let received = ''
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    received += new TextDecoder().decode(bytes)
    const [, pause = ''] = received.split('"one"')
    if (pause.split(': keep-alive').length > 2) fill()
  }
  expect(readSse(received)).toMatchObject({ text: 'onetwo', done: true })
})

test('usage and [DONE] are sent only after the charge is committed', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue()
  let commit: () => void = () => {}
  const committed = new Promise<void>((resolve) => {
    commit = resolve
  })
  const { admissions } = deps.store
  const slow = {
    ...deps,
    store: {
      ...deps.store,
      admissions: {
        ...admissions,
        settle: async (...args: Parameters<typeof admissions.settle>) => {
          await committed
          return await admissions.settle(...args)
        },
      },
    },
  }
  const { chat } = openApi(slow, { upstream: says([text('x')], [finish()]).upstream })
  const response = await chat(bearer, hello({ stream: true }))
  let received = ''
  const reading = (async () => {
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      received += new TextDecoder().decode(bytes)
    }
  })()
  await eventually(() => received.includes('"stop"'), 'the finish chunk arrives')
  await Bun.sleep(30)
  expect(received).not.toContain('usage')
  expect(received).not.toContain('[DONE]')
  commit()
  await reading
  expect(readSse(received)).toMatchObject({ done: true })
})
