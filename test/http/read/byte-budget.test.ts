// The budget of bytes in memory: who may take how much of it, and that every request gives back what it took.
import { describe, expect, test } from 'vitest'
import { UpstreamFailure } from '#domain/upstream.ts'
import { ByteBudget, MIN_BUDGET_BYTES } from '#http/read/byte-budget.ts'
import { DEFAULT_TIMINGS } from '#http/timings.ts'
import { furnish, hello, openApi } from '#test/support/furnish.ts'
import { finish, script, text } from '#test/support/scripted-upstream.ts'
import { openKeyCounter } from '../key-counter.ts'

const MEBIBYTE = 1024 * 1024
const deps = await furnish()
const { key: one, bearer } = await deps.issue()
const { key: other } = await deps.issue()
const { key: third } = await deps.issue()

describe('a budget', () => {
  test('one key can send a body of the maximum size in the smallest one', () => {
    const budget = new ByteBudget(MIN_BUDGET_BYTES)
    budget.forRequest(one).takeBody(32 * MEBIBYTE)
    expect(budget.usedBytes).toBe(64 * MEBIBYTE)
  })

  test('of one key: half of it, of which a quarter is for short bodies', () => {
    const budget = new ByteBudget(256 * MEBIBYTE)
    budget.forRequest(one).takeBody(48 * MEBIBYTE)
    expect(() => budget.forRequest(one).takeBody(65 * 1024)).toThrow(
      expect.objectContaining({
        code: 'concurrency_limit_exceeded',
        details: {
          retryAfterSeconds: 1,
          metadata: {
            limit: 'key_memory_bytes',
            limit_value: 96 * MEBIBYTE,
            used: 96 * MEBIBYTE,
            resets_at: null,
          },
        },
      }),
    )
    for (let n = 0; n < 256; n++) budget.forRequest(one).takeBody(64 * 1024)
    expect(() => budget.forRequest(one).takeBody(1)).toThrow('128.0 of 128.0 MiB')
    budget.forRequest(other).takeBody(32 * MEBIBYTE)
  })

  test('of all keys: three quarters for long bodies, the rest for short ones', () => {
    const budget = new ByteBudget(256 * MEBIBYTE)
    budget.forRequest(one).takeBody(48 * MEBIBYTE)
    budget.forRequest(other).takeBody(48 * MEBIBYTE)
    expect(() => budget.forRequest(third).takeBody(65 * 1024)).toThrow(
      expect.objectContaining({ code: 'gateway_overloaded' }),
    )
    budget.forRequest(third).takeBody(64 * 1024)
  })

  test('what a key holds beyond its share takes nothing from the others', () => {
    const budget = new ByteBudget(256 * MEBIBYTE)
    const answer = budget.forRequest(one)
    answer.set(1024 * MEBIBYTE)
    expect(() => budget.forRequest(one).takeBody(1)).toThrow('of 128.0 MiB')
    expect(budget.usedBytes).toBe(128 * MEBIBYTE)
    budget.forRequest(other).takeBody(32 * MEBIBYTE)
    answer.set(8 * MEBIBYTE)
    answer.release()
    answer.release()
    expect(budget.usedBytes).toBe(64 * MEBIBYTE)
  })

  test('a body that has come is counted as it is kept, and as it is parsed, until its text is let go', () => {
    const budget = new ByteBudget(256 * MEBIBYTE)
    const held = budget.forRequest(one)
    held.arrived(5)
    expect(budget.usedBytes).toBe(10)
    held.arrived(12)
    expect(budget.usedBytes).toBe(24)
    held.dropBody()
    expect(budget.usedBytes).toBe(12)
  })
})

const LONG = 'word '.repeat(200_000)

/** An API with a budget, whose provider says a megabyte unless it is to fail. */
function open() {
  const memory = new ByteBudget(256 * MEBIBYTE)
  const played = script(async function* ({ request }) {
    if (request.endUser === 'fails') throw new UpstreamFailure('failed', 'no luck')
    yield [text(LONG)]
    if (request.endUser === 'breaks') throw new UpstreamFailure('failed', 'no luck')
    yield [finish()]
  })
  return { memory, ...openApi(deps, { memory, upstream: played.upstream }) }
}

describe('gives back what it took', () => {
  const large = { messages: [{ role: 'user', content: LONG }] }
  test.each([
    ['a whole answer', 200, {}, {}],
    ['a stream', 200, { stream: true }, {}],
    ['a stream that breaks', 200, { stream: true, user: 'breaks' }, {}],
    ['a provider that fails', 502, { user: 'fails' }, {}],
    ['an unknown model', 404, { model: 'demo/none' }, {}],
    ['an invalid field', 400, { n: -1 }, {}],
    ['a dry run', 200, {}, { 'X-Gateway-Dry-Run': 'true' }],
    ['an invalid header', 400, {}, { 'Idempotency-Key': 'x'.repeat(256) }],
    ['a first run', 200, {}, { 'Idempotency-Key': 'a' }],
    ['a replay', 200, {}, { 'Idempotency-Key': 'a' }],
    ['a conflict', 409, { n: 1 }, { 'Idempotency-Key': 'a' }],
  ])('%s: %i', async (_, status, more, headers) => {
    const { memory, chat } = open()
    const response = await chat(bearer, hello({ ...large, ...more }), headers)
    expect(response.status).toBe(status)
    await response.text()
    expect(memory.usedBytes).toBe(0)
  })

  test('every request for keys', async () => {
    const memory = new ByteBudget(256 * MEBIBYTE)
    const { ask } = await openKeyCounter({ memory })
    const issued = await ask('POST', '/v1/keys', { name: 'worker' })
    const path = `/v1/keys/${issued.body.id}`
    expect([issued.status, memory.usedBytes]).toEqual([201, 0])
    for (const [method, at, body, status] of [
      ['POST', '/v1/keys', { name: '' }, 400],
      ['PATCH', path, { name: 'renamed' }, 200],
      ['GET', path, undefined, 200],
      ['GET', '/v1/keys', undefined, 200],
      ['DELETE', path, undefined, 200],
    ] as const) {
      expect([method, (await ask(method, at, body)).status]).toEqual([method, status])
      expect([method, memory.usedBytes]).toEqual([method, 0])
    }
  })

  test('a reader that leaves a long answer or a replay', async () => {
    const { memory, chat } = open()
    for (const headers of [{}, { 'Idempotency-Key': 'left' }, { 'Idempotency-Key': 'left' }]) {
      const response = await chat(bearer, hello({ ...large }), headers)
      expect(memory.usedBytes).toBeGreaterThan(0)
      await response.body?.cancel()
      expect(memory.usedBytes).toBe(0)
    }
  })

  test('a stream whose text is kept for a repetition', async () => {
    const memory = new ByteBudget(256 * MEBIBYTE)
    const gate = Promise.withResolvers<void>()
    const played = script(async function* () {
      yield [text(LONG)]
      await gate.promise
      yield [finish()]
    })
    const { chat } = openApi(deps, { memory, upstream: played.upstream })
    const response = await chat(bearer, hello({ stream: true }), { 'Idempotency-Key': 'kept' })
    expect(memory.usedBytes).toBeGreaterThan(LONG.length)
    gate.resolve()
    await response.text()
    expect(memory.usedBytes).toBe(0)
  })

  test('a body that does not arrive in time, or breaks off', async () => {
    const memory = new ByteBudget(256 * MEBIBYTE)
    const { app } = openApi(deps, { memory, timings: { ...DEFAULT_TIMINGS, bodyDeadlineMs: 20 } })
    for (const isBroken of [false, true]) {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"model"'))
          if (isBroken) controller.error(new RangeError('gone'))
        },
      })
      const headers = { 'Content-Type': 'application/json', ...bearer }
      const response = await app.request('http://gateway.test/v1/chat/completions', {
        method: 'POST',
        headers,
        body,
      })
      expect([response.status, response.headers.get('connection')]).toEqual([400, 'close'])
      expect(memory.usedBytes).toBe(0)
    }
  })

  test('a body that goes on after its deadline', async () => {
    const memory = new ByteBudget(256 * MEBIBYTE)
    const { app } = openApi(deps, { memory, timings: { ...DEFAULT_TIMINGS, bodyDeadlineMs: 20 } })
    const left = Promise.withResolvers<void>()
    let sender: ReadableStreamDefaultController | undefined
    const body = new ReadableStream({
      start(controller) {
        sender = controller
        controller.enqueue(new TextEncoder().encode('{"model"'))
      },
      cancel: () => left.resolve(),
    })
    const headers = { 'Content-Type': 'application/json', ...bearer }
    const response = await app.request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers,
      body,
    })
    expect(response.status).toBe(400)
    try {
      sender?.enqueue(new Uint8Array(MEBIBYTE))
    } catch {
      // Nobody reads it any more.
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(memory.usedBytes).toBe(0)
    await left.promise
  })
})
