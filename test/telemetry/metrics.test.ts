// The metrics of a running gateway: every request once, by key, model, status and limit, and the state of keys and balances.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { RequestLine } from '#http/request-log.ts'
import { type Gateway, startGateway } from '#server/gateway.ts'
import { type Furnished, furnish, hello, type TestKey, usd } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'
import { eventually, finish, script, text } from '#test/support/scripted-upstream.ts'
import { readMetrics } from './read-metrics.ts'

let deps: Furnished
let gateway: Gateway
let key: TestKey

const start = async (options: Partial<Parameters<typeof startGateway>[0]> = {}) => {
  gateway = await startGateway({
    store: deps.store,
    clock: deps.clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
    version: '1.2.3',
    telemetry: {
      metrics: { listen: { hostname: '127.0.0.1', port: 0 }, token: null },
      traces: null,
    },
    ...options,
  })
}

beforeEach(async () => {
  deps = await furnish()
  key = await deps.issue({ rpm: 3, tpm: 1_000, dailySpend: usd('5'), concurrency: 7 })
})
afterEach(async () => {
  await gateway.stop(0)
  await deps.store.close()
})

const chat = (body: unknown, bearer = key.bearer) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...bearer },
    body: JSON.stringify(body),
  })

const scrape = async () => {
  const response = await fetch(gateway.metricsUrl ?? '')
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return readMetrics(await response.text())
}

describe('counters', () => {
  test('every request is counted once when it ends: whole, streamed, refused by a limit, refused without a key', async () => {
    await start()
    const answer = (await (await chat(hello())).json()) as { usage: { cost: number } }
    await (await chat(hello({ stream: true }))).text()
    await (await chat(hello())).json()
    expect((await chat(hello())).status).toBe(429)
    expect((await chat(hello(), { Authorization: 'Bearer if-wrong' })).status).toBe(401)

    const metrics = await scrape()
    const served = {
      key: key.key.id,
      model: 'demo/echo',
      provider: 'demo',
      status: '200',
      code: '',
    }
    expect(metrics.value('gateway_requests_total', { ...served, stream: 'false' })).toBe(2)
    expect(metrics.value('gateway_requests_total', { ...served, stream: 'true' })).toBe(1)
    expect(metrics.sum('gateway_requests_total')).toBe(4)
    expect(metrics.samples('gateway_limited_total')).toEqual([
      { labels: { key: key.key.id, limit: 'rpm', code: 'rate_limit_exceeded' }, value: 1 },
    ])
    expect(
      metrics.value('gateway_cost_usd_total', { key: key.key.id, model: 'demo/echo' }),
    ).toBeCloseTo(answer.usage.cost * 3, 12)
    expect(metrics.value('gateway_tokens_total', { model: 'demo/echo', type: 'output' })).toBe(9)
    expect(metrics.value('gateway_http_responses_total', { route: 'chat', status: '401' })).toBe(1)
    expect(metrics.value('gateway_http_responses_total', { route: 'chat', status: '200' })).toBe(3)
  })

  test('names in a refused request never become label values', async () => {
    await start()
    await chat(hello({ model: 'made/up-1' }))
    await chat(hello({ model: 'made/up-2' }))
    const text = await (await fetch(gateway.metricsUrl ?? '')).text()
    expect(text).not.toContain('made/up')
    expect(
      readMetrics(text).value('gateway_requests_total', { status: '404', model: '', provider: '' }),
    ).toBe(2)
  })

  test('durations fall into buckets that add up to the count', async () => {
    await start()
    await chat(hello())
    const metrics = await scrape()
    const labels = { model: 'demo/echo', provider: 'demo' }
    expect(metrics.value('gateway_request_duration_seconds_count', labels)).toBe(1)
    expect(
      metrics.value('gateway_request_duration_seconds_bucket', { ...labels, le: '+Inf' }),
    ).toBe(1)
    expect(metrics.value('gateway_time_to_first_token_seconds_count', labels)).toBe(1)
    const semantic = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: 'demo',
      gen_ai_request_model: 'demo/echo',
      gen_ai_response_model: 'demo/echo',
    }
    expect(metrics.value('gen_ai_server_request_duration_seconds_count', semantic)).toBe(1)
    const output = { ...semantic, gen_ai_token_type: 'output' }
    expect(metrics.value('gen_ai_client_token_usage_sum', output)).toBe(3)
    expect(metrics.value('gen_ai_client_token_usage_bucket', { ...output, le: '1' })).toBe(0)
    expect(metrics.value('gen_ai_client_token_usage_bucket', { ...output, le: '4' })).toBe(1)
    const bounds = metrics
      .samples('gateway_request_duration_seconds_bucket')
      .map((sample) => sample.labels['le'])
    expect(bounds.slice(0, 3)).toEqual(['0.01', '0.02', '0.04'])
    expect(bounds.slice(-2)).toEqual(['163.84', '+Inf'])
  })

  test('a webhook or mail delivery attempt is counted by its outcome', async () => {
    await start({ delivery: { smtp: null, webhooks: { loopback: true, private: false } } })
    const { account, clock, store } = deps
    const threshold = { accountId: account.id, below: usd('200'), webhookUrl: null }
    await store.thresholds.set(
      { ...threshold, email: 'o@example.org' },
      undefined,
      anAct(clock.now()),
    )
    await (await chat(hello())).json()
    await eventually(
      async () => (await scrape()).sum('gateway_email_deliveries_total') === 1,
      'a mail is tried',
    )
    const metrics = await scrape()
    const labels = { event: 'gateway.low_balance', outcome: 'no_smtp' }
    expect(metrics.value('gateway_email_deliveries_total', labels)).toBe(1)
    expect(metrics.value('gateway_low_balance_marked', { account: 'default' })).toBe(1)
  })

  test('a failed attempt at a provider is counted in addition to its request', async () => {
    const broken = script(
      async function* () {
        yield [finish()]
      },
      async () => {
        throw new UpstreamFailure('failed', 'broke', { status: 500 })
      },
    )
    await start({ upstreamFor: () => broken.upstream })
    expect((await chat(hello({ allow_fallbacks: false }))).status).toBe(502)
    const metrics = await scrape()
    expect(metrics.samples('gateway_upstream_errors_total')).toEqual([
      { labels: { provider: 'demo', outcome: 'failed', status: '500' }, value: 1 },
    ])
    expect(metrics.value('gateway_provider_resting', { provider: 'demo' })).toBe(0)
  })
})

describe('gauges', () => {
  test('keys in use report their limits, accounts their balance', async () => {
    await start()
    await deps.store.thresholds.set(
      { accountId: deps.account.id, below: usd('20'), email: null, webhookUrl: null },
      undefined,
      anAct(deps.clock.now()),
    )
    const idle = await deps.issue({ rpm: 9 })
    await (await chat(hello())).json()
    const metrics = await scrape()
    const of = (limit: string) => ({ key: key.key.id, limit })
    expect(metrics.value('gateway_key_limit', of('rpm'))).toBe(3)
    expect(metrics.value('gateway_key_used', of('rpm'))).toBe(1)
    expect(metrics.value('gateway_key_limit', of('tpm'))).toBe(1_000)
    expect(metrics.value('gateway_key_used', of('tpm'))).toBe(6)
    expect(metrics.value('gateway_key_limit', of('day'))).toBe(5)
    expect(metrics.value('gateway_key_used', of('day'))).toBeGreaterThan(0)
    expect(metrics.value('gateway_key_used', of('concurrency'))).toBe(0)
    expect(metrics.value('gateway_key_info', { key: key.key.id, name: 'worker' })).toBe(1)
    expect(metrics.samples('gateway_key_info').map(({ labels }) => labels['key'])).not.toContain(
      idle.key.id,
    )
    expect(metrics.value('gateway_balance_usd', { account: 'default' })).toBeCloseTo(100, 2)
    expect(metrics.value('gateway_low_balance_threshold_usd', { account: 'default' })).toBe(20)
    expect(metrics.value('gateway_low_balance_marked', { account: 'default' })).toBe(0)
    expect(metrics.value('gateway_build_info', { version: '1.2.3' })).toBe(1)
    expect(metrics.value('gateway_store_writable', {})).toBe(1)
    expect(metrics.value('process_resident_memory_bytes', {})).toBeGreaterThan(1e6)
  })

  test('an account reports the limits that it has', async () => {
    await start()
    await (await chat(hello())).json()
    expect((await scrape()).samples('gateway_account_limit')).toEqual([])
    const limits = { rpm: 60, tpm: 5_000, concurrency: 4, monthlySpend: usd('50') }
    await deps.store.accounts.amend(deps.account.id, { limits }, anAct(deps.clock.now()))
    const metrics = await scrape()
    const of = (limit: string) => ({ account: 'default', limit })
    expect(
      metrics.samples('gateway_account_limit').map(({ labels, value }) => [labels, value]),
    ).toEqual([
      [of('rpm'), 60],
      [of('tpm'), 5_000],
      [of('concurrency'), 4],
      [of('month'), 50],
    ])
    expect(metrics.value('gateway_account_used', of('rpm'))).toBe(1)
    expect(metrics.value('gateway_account_used', of('tpm'))).toBe(6)
    expect(metrics.value('gateway_account_used', of('month'))).toBeGreaterThan(0)
  })

  test('a request in progress is counted while it runs', async () => {
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = script(async function* () {
      yield [text('one')]
      await released
      yield [finish()]
    })
    await start({ upstreamFor: () => slow.upstream })
    const answer = chat(hello())
    await eventually(() => gateway.live().inFlight === 1, 'it runs')
    expect((await scrape()).value('gateway_inflight_requests', { key: key.key.id })).toBe(1)
    release()
    await (await answer).json()
    expect((await scrape()).value('gateway_inflight_requests', { key: key.key.id })).toBe(0)
  })
})

describe('limits of the metrics', () => {
  test('they contain no secret of a key and no end user', async () => {
    await start()
    await chat(hello({ user: 'end-user-canary' }))
    const text = await (await fetch(gateway.metricsUrl ?? '')).text()
    const secret = key.bearer['Authorization']?.slice('Bearer '.length) ?? ''
    for (const canary of [secret, secret.slice(0, 10), key.key.label, 'end-user-canary']) {
      expect(text).not.toContain(canary)
    }
  })

  test("the API's own listener does not serve them", async () => {
    await start()
    expect((await fetch(`${gateway.url}/metrics`)).status).toBe(404)
  })

  test('when they are off nothing listens, and log lines are unchanged', async () => {
    const lines: RequestLine[] = []
    await start({
      telemetry: { metrics: null, traces: null },
      log: (line) => lines.push(line),
    })
    expect(gateway.metricsUrl).toBeNull()
    await chat(hello())
    expect(lines).toHaveLength(1)
  })
})
