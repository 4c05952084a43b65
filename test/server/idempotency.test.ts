// Idempotency-Key over real sockets: a success is charged once, a failure runs anew, an image survives its client's disconnect.

import { afterEach, describe, expect, test } from 'vitest'
import { DAY_MS, later } from '#domain/clock.ts'
import { MAX_ANSWER_BYTES } from '#domain/idempotency.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { handClock, hello, type TestKey, usd } from '#test/support/furnish.ts'
import { findAnswer } from '#test/support/keep-answer.ts'
import { anAct } from '#test/support/nouns.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { readSse } from '#test/support/read-sse.ts'
import { eventually, finish, never, script, text, until } from '#test/support/scripted-upstream.ts'
import { freeWords, type Served, serve } from './serve.ts'

let served: Served | null = null
const open = async (...args: Parameters<typeof serve>): Promise<Served> => {
  served = await serve(...args)
  return served
}
afterEach(async () => {
  await served?.gateway.stop(0)
  await served?.deps.store.close()
  served = null
})

const IMAGE = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAA'.repeat(40_000)}`
const painting = (more: Readonly<Record<string, unknown>> = {}) =>
  hello({ model: 'demo/image', modalities: ['image'], ...more })

/** Finishes its image when `draw` is called. */
function painter() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const played = script(async function* (call) {
    await until(promise, call)
    yield [{ type: 'image', choice: 0, url: IMAGE }, finish()]
  })
  return { ...played, upstream: played.upstream, draw: resolve }
}

const headers = (s: Served, key: string, { bearer }: TestKey = s.key) => ({
  'Content-Type': 'application/json',
  ...bearer,
  'Idempotency-Key': key,
})
const ask = (s: Served, body: unknown, key = 'k-1', by?: TestKey) =>
  s.chat(body, { headers: headers(s, key, by) })

const charges = (s: Served) => s.deps.store.ledger.list({ kind: 'charge', limit: 100 })
const codeOf = async (response: Response) => {
  const { error } = (await response.json()) as { error?: { code: string; param: string } }
  return [response.status, error?.code, error?.param]
}
const CONFLICT = [409, 'idempotency_conflict', 'Idempotency-Key']
const replayed = (response: Response) => response.headers.get('idempotent-replayed')
const generation = (response: Response) => response.headers.get('x-generation-id')
const keptOf = ({ key, deps: { store, clock } }: Served) =>
  findAnswer(store, key.key, clock.now(), {
    key: 'k-1',
    digest: new Bun.CryptoHasher('sha256').update(JSON.stringify(painting())).digest('hex'),
  })
const idle = (s: Served) =>
  eventually(() => s.gateway.live().inFlight === 0, 'nothing is in flight')

describe('a successful answer', () => {
  test('is replayed unchanged, and is charged once', async () => {
    const s = await open(null)
    const first = await ask(s, painting())
    const body = await first.text()
    expect([first.status, replayed(first)]).toEqual([200, null])
    const left = first.headers.get('x-ratelimit-remaining-minute')

    const again = await ask(s, painting())
    expect([again.status, replayed(again)]).toEqual([200, 'true'])
    expect(await again.text()).toBe(body)
    expect(generation(again)).toBe(generation(first))
    expect((JSON.parse(body) as { id: string }).id).toBe(generation(first))
    expect(again.headers.get('content-type')).toBe('application/json')
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    // The replay used no slot.
    expect(again.headers.get('x-ratelimit-remaining-minute')).toBe(left)
    expect(await charges(s)).toMatchObject([{ amount: -usd('0.01') }])
    expect(s.lines.map(({ generation_id, cost_usd }) => [generation_id, cost_usd])).toEqual([
      [generation(first), '0.01'],
      [generation(first), '0'],
    ])
  })

  test('is replayed byte for byte as a stream', async () => {
    const s = await open(null)
    const body = hello({ stream: true, model: 'demo/lorem', max_tokens: 30, user: 'rate-1000' })
    const first = await ask(s, body)
    const said = await first.text()
    expect(readSse(said)).toMatchObject({ done: true })
    const again = await ask(s, body)
    expect(replayed(again)).toBe('true')
    expect(await again.text()).toBe(said)
    expect(generation(again)).toBe(generation(first))
    for (const name of ['content-type', 'cache-control', 'x-accel-buffering']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(await charges(s)).toHaveLength(1)
  })

  test('is replayed to many concurrent requests', async () => {
    const s = await open(null)
    const body = await (await ask(s, painting())).text()
    const again = await Promise.all(Array.from({ length: 20 }, () => ask(s, painting())))
    expect(again.map(replayed)).toEqual(Array(20).fill('true'))
    const bodies = await Promise.all(again.map((response) => response.text()))
    expect(new Set(bodies)).toEqual(new Set([body]))
    expect(await charges(s)).toHaveLength(1)
  })

  test('is replayed also when every limit is used up, but never to a revoked key', async () => {
    const s = await open(null)
    const key = await s.deps.issue({ rpm: 1, dailySpend: usd('0.01') })
    await (await ask(s, painting(), 'k', key)).text()
    const other = await ask(s, painting(), 'another', key)
    expect(other.status).toBe(402)
    const again = await ask(s, painting(), 'k', key)
    expect([again.status, replayed(again)]).toEqual([200, 'true'])
    expect(again.headers.get('x-ratelimit-remaining-minute')).toBe('0')

    await s.deps.store.keys.revoke(key.key.id, anAct(s.deps.clock.now()))
    expect((await ask(s, painting(), 'k', key)).status).toBe(401)
  })

  test('is replayed for 24 hours', async () => {
    const clock = handClock(Date.UTC(2026, 7, 22, 12))
    const s = await open(null, {}, clock)
    const first = await ask(s, hello())
    await first.text()
    clock.advance(24 * 3_600_000 - 1)
    expect(generation(await ask(s, hello()))).toBe(generation(first))
    clock.advance(1)
    const later = await ask(s, hello())
    expect([later.status, replayed(later)]).toEqual([200, null])
    expect(generation(later)).not.toBe(generation(first))
    expect(await charges(s)).toHaveLength(2)
    // The new answer replaces the first.
    const again = await ask(s, hello())
    expect([generation(again), replayed(again)]).toEqual([generation(later), 'true'])
  })

  test('that is removed while a slow reader is sent it breaks off, and a retry runs anew', async () => {
    const played = script(async function* () {
      yield [text('x'.repeat(20_000_000)), finish()]
    })
    const s = await open(played.upstream)
    await (await ask(s, hello())).text()
    const client = dial(s.gateway.url)
    client.socket.once('data', () => client.socket.pause())
    client.send(post('/v1/chat/completions', headers(s, 'k-1'), hello()))
    await eventually(() => client.received !== '', 'it begins')
    const { answers } = s.deps.store
    while ((await answers.trim(later(s.deps.clock.now(), 2 * DAY_MS), 100)) > 0) {}
    client.socket.resume()
    await eventually(() => client.closed, 'it breaks off')
    expect(client.received).toMatch(/^HTTP\/1\.1 200 /)
    expect(client.received.length).toBeLessThan(20_000_000)
    expect(client.received.endsWith('\r\n0\r\n\r\n')).toBe(false)
    const again = await ask(s, hello())
    expect([again.status, replayed(again)]).toEqual([200, null])
    await again.text()
    expect(await charges(s)).toHaveLength(2)
  })

  test('is not stored when it is too long', async () => {
    const megabyte = 'x'.repeat(1_000_000)
    const played = script(async function* () {
      for (let sent = 0; sent <= MAX_ANSWER_BYTES; sent += megabyte.length) yield [text(megabyte)]
      yield [finish()]
    })
    const s = await open(played.upstream)
    await freeWords(s)
    await (await ask(s, hello({ stream: true }))).text()
    const again = await ask(s, hello({ stream: true }))
    expect(replayed(again)).toBeNull()
    await again.body?.cancel()
  })
})

describe('while the first request is running', () => {
  test('all others with its key are refused, in whatever order they arrive', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const settled: Response[] = []
    const asked = Array.from({ length: 20 }, async () => {
      const response = await ask(s, painting())
      settled.push(response)
      return response
    })
    await eventually(() => settled.length === 19, 'all but one are answered')
    draw()
    const responses = await Promise.all(asked)
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    for (const response of settled.slice(0, 19)) {
      expect(response.headers.get('retry-after')).toBeNull()
      expect(await codeOf(response)).toEqual(CONFLICT)
    }
    expect(calls).toHaveLength(1)
    expect(await charges(s)).toHaveLength(1)
  })

  test('an image whose client disconnected is finished for the retry', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const client = dial(s.gateway.url)
    client.send(post('/v1/chat/completions', headers(s, 'k-1'), painting()))
    await eventually(() => calls.length === 1, 'the upstream is asked')
    client.hangUp()
    await eventually(() => client.closed, 'the client has gone')
    expect(await codeOf(await ask(s, painting()))).toEqual(CONFLICT)
    // Without an Idempotency-Key the same disconnect cancels the request.
    const other = dial(s.gateway.url)
    other.send(post('/v1/chat/completions', s.key.bearer, painting()))
    await eventually(() => calls.length === 2, 'the upstream is asked again')
    other.hangUp()
    await eventually(() => calls[1]?.signal.aborted === true, 'that one is let go')
    expect(calls[0]?.signal.aborted).toBe(false)

    draw()
    await idle(s)
    const again = await ask(s, painting())
    expect([again.status, replayed(again)]).toEqual([200, 'true'])
    expect(await again.text()).toContain(IMAGE)
    expect(calls).toHaveLength(2)
    const mine = (await charges(s)).filter(({ generationId }) => generationId === generation(again))
    expect(mine).toMatchObject([{ amount: -usd('0.01') }])
    const entries = await s.deps.store.activity.list({ limit: 10 })
    expect(entries.map(({ endedBy }) => endedBy).sort()).toEqual(['client', 'completed'])
  })

  test('the others are refused at once too where it waits for money that another request holds', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const key = await s.deps.issue({ dailySpend: usd('0.015') })
    const ahead = ask(s, painting(), 'ahead', key)
    await eventually(() => calls.length === 1, 'the upstream is asked')
    const waiting = ask(s, painting(), 'k-1', key)
    await eventually(() => s.gateway.live().inFlight === 2, 'it waits')
    expect(await codeOf(await ask(s, painting(), 'k-1', key))).toEqual(CONFLICT)
    expect(await codeOf(await ask(s, painting(), 'ahead', key))).toEqual(CONFLICT)
    const other = await ask(s, painting({ n: 2 }), 'k-1', key)
    expect(other.headers.get('x-should-retry')).toBe('false')
    expect(calls).toHaveLength(1)
    draw()
    expect((await ahead).status).toBe(200)
    const first = await waiting
    expect([first.status, replayed(first)]).toEqual([200, null])
    expect(replayed(await ask(s, painting(), 'k-1', key))).toBe('true')
    expect(await charges(s)).toHaveLength(2)
  })

  test('a shutdown waits for it, and stores its answer', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const client = dial(s.gateway.url)
    client.send(post('/v1/chat/completions', headers(s, 'k-1'), painting()))
    await eventually(() => calls.length === 1, 'the upstream is asked')
    client.hangUp()
    await eventually(() => client.closed, 'the client has gone')
    let stopped = false
    const stopping = s.gateway.stop(10_000).then(() => {
      stopped = true
    })
    expect((await ask(s, painting())).status).toBe(503)
    expect([stopped, s.gateway.live().inFlight]).toEqual([false, 1])
    draw()
    await stopping
    expect(await keptOf(s)).toBeDefined()
    expect(await charges(s)).toHaveLength(1)
  })

  test('a shutdown that reaches its deadline aborts it: nothing is stored', async () => {
    const { upstream, calls } = painter()
    const s = await open(upstream)
    const asked = ask(s, painting())
    await eventually(() => calls.length === 1, 'the upstream is asked')
    await s.gateway.stop(20)
    expect((await asked).status).toBe(503)
    expect(await keptOf(s)).toBeUndefined()
    expect(await charges(s)).toEqual([])
  })
})

describe('a different', () => {
  test('body under the same key is refused, during and after, and is marked as not to be retried', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const first = ask(s, painting())
    await eventually(() => calls.length === 1, 'the upstream is asked')
    const sameWords = JSON.stringify(painting()).replace(':', ': ')
    for (const body of [JSON.stringify(painting({ n: 2 })), sameWords]) {
      const during = await s.chat(null, { headers: headers(s, 'k-1'), body })
      expect(during.headers.get('x-should-retry')).toBe('false')
      expect(await codeOf(during)).toEqual(CONFLICT)
    }
    draw()
    await (await first).text()
    const after = await ask(s, painting({ n: 2 }))
    expect(after.headers.get('x-should-retry')).toBe('false')
    expect(await codeOf(after)).toEqual(CONFLICT)
    expect(replayed(await ask(s, painting()))).toBe('true')
    expect(calls).toHaveLength(1)
  })

  test('API key may use the same idempotency key for itself', async () => {
    const { upstream, calls, draw } = painter()
    const s = await open(upstream)
    const other = await s.deps.issue()
    const both = [ask(s, painting()), ask(s, painting(), 'k-1', other)]
    await eventually(() => calls.length === 2, 'both are asked for')
    draw()
    const [mine, theirs] = await Promise.all(both)
    expect([mine?.status, theirs?.status]).toEqual([200, 200])
    expect(generation(mine!)).not.toBe(generation(theirs!))
    expect(generation(await ask(s, painting(), 'k-1', other))).toBe(generation(theirs!))
    expect(await charges(s)).toHaveLength(2)
  })
})

describe('a request that did not succeed runs anew', () => {
  test.each([false, true])('after a failure before any content, with stream %s', async (stream) => {
    let broken = true
    const played = script(async function* () {
      if (broken) throw new UpstreamFailure('rejected', 'no')
      yield [text('yes'), finish()]
    })
    const s = await open(played.upstream)
    const body = hello({ stream })
    expect((await ask(s, body)).status).toBe(400)
    broken = false
    const again = await ask(s, body)
    expect([again.status, replayed(again)]).toEqual([200, null])
    expect(await again.text()).toContain('yes')
    expect(await charges(s)).toHaveLength(1)
    expect(replayed(await ask(s, body))).toBe('true')
  })

  test.each([false, true])('after a failure during the content, with stream %s', async (stream) => {
    let broken = true
    const played = script(async function* () {
      yield [text('half')]
      if (broken) throw new UpstreamFailure('failed', 'it broke')
      yield [text(' and half'), finish()]
    })
    const s = await open(played.upstream)
    const body = hello({ stream })
    await (await ask(s, body)).text()
    await idle(s)
    broken = false
    const again = await ask(s, body)
    expect([again.status, replayed(again)]).toEqual([200, null])
    expect(await again.text()).toContain('half')
    expect(replayed(await ask(s, body))).toBe('true')
  })

  test.each([false, true])(
    'after a text whose client disconnected, with stream %s',
    async (stream) => {
      let slow = true
      const played = script(async function* (call) {
        yield [text('one ')]
        if (slow) await until(never, call)
        yield [text('two'), finish()]
      })
      const s = await open(played.upstream)
      const body = hello({ stream })
      const client = dial(s.gateway.url)
      client.send(post('/v1/chat/completions', headers(s, 'k-1'), body))
      await eventually(
        () => (stream ? client.received.includes('one ') : played.asked === 1),
        'it has begun',
      )
      client.hangUp()
      await idle(s)
      slow = false
      const again = await ask(s, body)
      expect([again.status, replayed(again)]).toEqual([200, null])
      await again.text()
      expect(await charges(s)).toHaveLength(2)
      expect(replayed(await ask(s, body))).toBe('true')
    },
  )

  test('after a refusal', async () => {
    const s = await open(null)
    const key = await s.deps.issue({ dailySpend: usd('0') })
    expect((await ask(s, hello(), 'k-1', key)).status).toBe(402)
    const { keys } = s.deps.store
    await keys.amend(key.key.id, { limits: { dailySpend: null } }, anAct(s.deps.clock.now()))
    const again = await ask(s, hello(), 'k-1', key)
    expect([again.status, replayed(again)]).toEqual([200, null])
  })
})

describe('an idempotency key', () => {
  test.each([
    ['empty', ''],
    ['too long', 'k'.repeat(256)],
    ['not ASCII', 'clé'],
    ['not printable', 'a\tb'],
  ])('that is %s is refused', async (_, key) => {
    const s = await open(null)
    expect(await codeOf(await ask(s, hello(), key))).toEqual([
      400,
      'invalid_request',
      'Idempotency-Key',
    ])
    // The API key is checked before it.
    expect((await s.chat(hello(), { headers: { 'Idempotency-Key': key } })).status).toBe(401)
  })

  test.each(['k', 'k'.repeat(255), 'order 66: "a, b"; ~!'])('%s is accepted', async (key) => {
    const s = await open(null)
    expect((await ask(s, hello(), key)).status).toBe(200)
    expect(replayed(await ask(s, hello(), key))).toBe('true')
  })
})
