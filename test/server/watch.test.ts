/** Watching a running gateway over its socket: running and finished requests, the remaining money, and ending a request. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FrameRecord, SnapshotRecord } from '#operator/snapshot/record.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { startGateway } from '#server/gateway.ts'
import { furnish } from '#test/support/furnish.ts'
import { readSse } from '#test/support/read-sse.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const DAY_CAP = '1'

/** A gateway with an admin socket, one key with limits, and a watcher. */
async function watched() {
  const deps = await furnish()
  onTestFinished(() => deps.store.close())
  const key = await deps.issue({ rpm: 10, concurrency: 3, dailySpend: 1_000_000_000n as never })
  const socket = join(tempDirectory(), 'run', 'admin.sock')
  const gateway = await startGateway({
    store: deps.store,
    clock: deps.clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: socket,
    version: '1.2.3',
  })
  onTestFinished(() => gateway.stop(0))
  const chat = (body: object) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...key.bearer },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi there' }], ...body }),
    })
  const verb = async (name: string, input: object) => {
    const response = await fetch(`http://gateway/verbs/${name}`, {
      unix: socket,
      method: 'POST',
      body: JSON.stringify(input),
    })
    return await response.json()
  }
  const kill = async (id: string) =>
    (await verb('activity.kill', { id })) as VerbRecord<'activity.kill'>
  return { deps, key, chat, kill, verb, frames: (query = '') => watch(socket, query) }
}

/** Frames as they arrive; closed at the end of the test. */
async function watch(socket: string, query: string) {
  const gone = new AbortController()
  onTestFinished(() => gone.abort())
  const response = await fetch(`http://gateway/watch?${query}`, {
    unix: socket,
    signal: gone.signal,
  })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let held = ''
  const next = async (): Promise<FrameRecord> => {
    for (;;) {
      const end = held.indexOf('\n')
      if (end >= 0) {
        const line = held.slice(0, end)
        held = held.slice(end + 1)
        return JSON.parse(line) as FrameRecord
      }
      const read = await reader?.read()
      if (!read || read.done) throw new Error(`it ended: ${held}`)
      held += decoder.decode(read.value, { stream: true })
    }
  }
  return {
    status: response.status,
    first: next as () => Promise<SnapshotRecord>,
    /** The next frame that satisfies the predicate. */
    async until(isWanted: (frame: FrameRecord) => boolean): Promise<FrameRecord> {
      for (;;) {
        const frame = await next()
        if (isWanted(frame)) return frame
      }
    },
  }
}

test('the first frame is complete, also when there has been no request', async () => {
  const { frames, key } = await watched()
  const { first } = await frames()
  const all = await first()
  expect(all.gateway).toMatchObject({ version: '1.2.3', healthy: true, draining: false })
  expect(all.in_flight).toEqual({ count: 0, peak: 0, requests: [] })
  expect(all.traffic).toMatchObject({ requests_per_minute: 0, error_percent: null, failed: [] })
  expect(all.traffic.total_ms).toEqual({ p50: null, p95: null, p99: null })
  expect(all.traffic.curves.requests_per_second).toHaveLength(60)
  expect(all.money).toMatchObject({
    account: 'default',
    balance_usd: '100.00',
    day_caps_usd: `${DAY_CAP}.00`,
    month_caps_usd: null,
    runway: { seconds: null, days: 0 },
  })
  expect(all.keys).toMatchObject({ total: 1, active: 0, warnings: [] })
  expect(all.keys.rows).toMatchObject([{ id: key.key.id, level: 'ok', lately: null }])
  expect(all.providers).toMatchObject([{ name: 'demo', state: 'unused', served_percent: null }])
  expect(all.log).toEqual([])
})

test('a share is of what bounds all that is spent: the account’s own ceiling, else those of all its keys', async () => {
  const { verb, frames } = await watched()
  const capIs = async (cap: string | null) =>
    await (await frames()).until(({ money }) => money?.day_caps_usd === cap)
  await verb('keys.create', { name: 'free' })
  await capIs(null)
  await verb('accounts.set-limits', { account: 'default', daily_spend_limit_usd: '7' })
  await capIs('7.00')
})

test('a ceiling of nothing is told as any other', async () => {
  const { verb, frames } = await watched()
  const ceilings = { daily_spend_limit_usd: '0', monthly_spend_limit_usd: '0' }
  await verb('accounts.set-limits', { account: 'default', ...ceilings })
  const told = await (await frames()).until(({ money }) => money?.month_caps_usd !== null)
  expect(told.money).toMatchObject({
    day_caps_usd: '0',
    month_caps_usd: '0',
    day_percent: null,
    month_percent: null,
  })
})

test('a request is shown while it runs, and its end is reported once, with its cost', async () => {
  const { chat, frames } = await watched()
  const watching = await frames('fps=10')
  await watching.first()
  const body = { model: 'demo/lorem', stream: true, max_tokens: 30, user: 'rate-20 delay-300' }
  const answer = await chat(body)
  const seen = await watching.until(
    ({ in_flight }) => (in_flight?.requests[0]?.completion_tokens ?? 0) > 2,
  )
  expect(seen.in_flight).toMatchObject({ count: 1, peak: 1 })
  expect(seen.in_flight?.requests[0]).toMatchObject({
    key_name: 'worker',
    model: 'demo/lorem',
    provider: 'demo',
    user: 'rate-20 delay-300',
    state: 'streaming',
    stream: true,
    failed_attempts: 0,
  })
  expect(Number(seen.in_flight?.requests[0]?.cost_usd)).toBeGreaterThan(0)
  expect(seen.in_flight?.requests[0]?.first_byte_ms).toBeGreaterThanOrEqual(290)
  const { chunks } = readSse(await answer.text())
  const ended = await watching.until(({ log }) => log !== undefined)
  expect(ended.log).toMatchObject([
    {
      id: chunks[0]?.id,
      key_name: 'worker',
      status: 200,
      completion_tokens: 30,
      ended_by: 'completed',
      message: null,
    },
  ])
  await (await chat({ model: 'demo/echo' })).text()
  const next = await watching.until(({ log }) => log !== undefined)
  expect(next.log?.map(({ model }) => model)).toEqual(['demo/echo'])
  const counted = await watching.until(({ traffic }) => (traffic?.ok ?? 0) > 1)
  expect(counted.traffic).toMatchObject({ requests_per_minute: 2, ok: 2, error_percent: 0 })
  expect(counted.in_flight).toEqual({ count: 0, peak: 1, requests: [] })
  const tokens = counted.traffic?.curves.tokens_per_second.reduce((sum, one) => sum + one * 5, 0)
  // Thirty of the first and two of the second.
  expect(tokens).toBeGreaterThan(31)
  expect(tokens).toBeLessThan(33)
})

test('refusals and provider failures are distinguished', async () => {
  const { chat, frames } = await watched()
  await (await chat({ model: 'demo/flaky', user: 'fail-400' })).text()
  await (await chat({ model: 'demo/nothing' })).text()
  await (await chat({ model: 'demo/flaky', user: 'fail-502' })).text()
  const { first } = await frames()
  const { errors, traffic, providers } = await first()
  expect(errors.map(({ status, model }) => `${status} ${model}`)).toEqual([
    '502 demo/flaky',
    '404 demo/nothing',
    '400 demo/flaky',
  ])
  expect(errors[0]).toMatchObject({ message: 'demo: demo/flaky was told to fail with 502' })
  expect(errors[0]?.attempts).toMatchObject([{ status: 502 }, { status: 502 }])
  expect(traffic.failed.map(({ status }) => status)).toEqual([400, 404, 502])
  expect(traffic.error_percent).toBe(33.3)
  expect(providers).toMatchObject([
    {
      name: 'demo',
      state: 'degraded',
      failed: [
        { status: 502, count: 2 },
        { status: 400, count: 1 },
      ],
    },
  ])
})

test('a key at a limit is listed first, with a warning', async () => {
  const { chat, frames, deps } = await watched()
  await deps.issue({})
  for (let i = 0; i < 11; i++) await (await chat({ model: 'demo/echo' })).text()
  const { first } = await frames()
  const { keys } = await first()
  expect(keys.total).toBe(2)
  expect(keys.active).toBe(1)
  expect(keys.rows[0]).toMatchObject({
    level: 'full',
    percent: 100,
    minute: { used: 10, limit: 10, level: 'full', frees_in_seconds: expect.any(Number) },
    day: { used: null, limit: null, percent: null },
    concurrency: { used: 0, limit: 3 },
    lately: { ok: 10, failed: [{ status: 429, count: 1 }], models: [{ name: 'demo/echo' }] },
  })
  expect(keys.warnings).toMatchObject([{ key_name: 'worker', what: 'rpm', level: 100 }])
})

test('a request that an operator ends is charged for what arrived, and its client gets an error', async () => {
  const { chat, kill, frames } = await watched()
  const watching = await frames('fps=10')
  const body = { model: 'demo/lorem', stream: true, max_tokens: 10_000, user: 'rate-20' }
  const answer = await chat(body)
  const seen = await watching.until(
    ({ in_flight }) => (in_flight?.requests[0]?.completion_tokens ?? 0) > 2,
  )
  const id = seen.in_flight?.requests[0]?.id ?? ''
  const [text, killed] = await Promise.all([answer.text(), kill(id)])
  expect(killed).toMatchObject({ id, model: 'demo/lorem', ended: true })
  const { chunks, done } = readSse(text)
  expect(done).toBe(true)
  expect(chunks.at(-2)).toMatchObject({ error: { code: 'ended_by_operator', type: 'api_error' } })
  expect(chunks.at(-1)?.usage).toMatchObject({ cost_details: { source: 'estimated' } })
  const ended = await watching.until(({ log }) => (log?.length ?? 0) > 0)
  expect(ended.log).toMatchObject([
    { id, status: 503, code: 'ended_by_operator', ended_by: 'gateway' },
  ])
  expect(Number(ended.log?.[0]?.cost_usd)).toBe(chunks.at(-1)?.usage?.['cost'])
  expect(await kill(id)).toMatchObject({ error: { code: 'generation_not_found' } })
})

test('watching an unknown account is refused', async () => {
  const { frames } = await watched()
  expect((await frames('account=nobody')).status).toBe(404)
})

test('status summarizes the same facts', async () => {
  const { chat, verb } = await watched()
  for (let i = 0; i < 11; i++) await (await chat({ model: 'demo/echo' })).text()
  const status = await verb('status', {})
  expect(status).toMatchObject({
    in_flight: 0,
    draining: false,
    traffic: {
      requests_per_minute: 11,
      ok: 10,
      failed: [{ status: 429, count: 1 }],
      error_percent: 0,
    },
    providers: [{ name: 'demo', served_percent: 100, failed: [] }],
    accounts: [{ name: 'default', runway: { days: 0, seconds: expect.any(Number) } }],
    warnings: [{ key_name: 'worker', what: 'rpm', level: 100 }],
  })
  expect(status).not.toHaveProperty('traffic.curves')
  expect(await verb('status', { warnings: false })).toMatchObject({ warnings: [] })
})
