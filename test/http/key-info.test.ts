// GET /v1/key: a key’s own limits, usage and state (contract §5).

import { expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { readRubPerUsd } from '#domain/money.ts'
import { furnish, handClock, hello, openApi, usd } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'

const NOON = Date.UTC(2026, 7, 22, 12)

test('a key’s information has exactly these fields', async () => {
  const clock = handClock(NOON)
  const deps = await furnish({ clock, balance: '20' })
  await deps.store.rates.set(readRubPerUsd('100')!, clock.now(), anAct(clock.now()))
  const { bearer, key } = await deps.issue({
    rpm: 60,
    concurrency: 4,
    dailySpend: usd('5'),
    monthlySpend: usd('50'),
    maxOutputTokens: 500,
    allowedModels: ['demo/*'],
  })
  const { get, chat } = openApi(deps)
  await chat(bearer, hello())
  const response = await get('/v1/key', bearer)
  expect(response.headers.get('x-ratelimit-remaining-minute')).toBe('59')
  expect(await response.json()).toEqual({
    object: 'key_info',
    id: key.id,
    name: 'worker',
    label: key.label,
    kind: 'ordinary',
    limits: {
      rpm_limit: 60,
      rpd_limit: null,
      tpm_limit: null,
      concurrency_limit: 4,
      daily_spend_limit_usd: '5.00',
      monthly_spend_limit_usd: '50.00',
      end_user_rpm: null,
      end_user_daily_usd: null,
      max_output_tokens: 500,
      allowed_models: ['demo/*'],
    },
    usage: {
      spend_day_usd: '0.000009',
      spend_month_usd: '0.000009',
      spend_day_rub: 0.0009,
      spend_month_rub: 0.0009,
      reserved_usd: '0',
      requests_in_progress: 0,
      requests_minute: 1,
      requests_day: 1,
      tokens_minute: 6,
    },
    remaining: {
      minute: 59,
      day: null,
      tokens_minute: null,
      daily_spend_usd: '4.999991',
      monthly_spend_usd: '49.999991',
    },
    resets: { daily_spend_at: '2026-08-23T00:00:00Z', monthly_spend_at: '2026-09-01T00:00:00Z' },
    balance: { amount_usd: '19.999991', amount_rub: 1999.9991 },
    expires_at: null,
    data: {
      label: key.label,
      usage: 0.000009,
      usage_daily: 0.000009,
      usage_monthly: 0.000009,
      limit: 50,
      limit_remaining: 49.999991,
      is_provisioning_key: false,
    },
  })
})

test('it uses no slot, and answers when every limit is used up', async () => {
  const clock = handClock(NOON)
  const deps = await furnish({ clock, balance: '0.000001' })
  const { bearer } = await deps.issue({ rpm: 1, rpd: 1, dailySpend: usd('0.000001') })
  const { get, chat } = openApi(deps)
  expect((await chat(bearer, hello())).status).toBe(200)
  expect((await chat(bearer, hello())).status).toBe(402)
  for (let i = 0; i < 5; i++) {
    const response = await get('/api/v1/key', bearer)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      usage: { requests_minute: 1, requests_day: 1 },
      remaining: { minute: 0, day: 0, daily_spend_usd: '0', monthly_spend_usd: null },
      balance: { amount_usd: '-0.000008' },
    })
  }
})

test('a request in progress is shown with its hold, which the remaining amounts leave out', async () => {
  const deps = await furnish({ clock: handClock(NOON) })
  const { bearer } = await deps.issue({ concurrency: 1, rpd: 2 })
  const { get, chat } = openApi(deps)
  const running = await chat(bearer, hello({ stream: true, max_tokens: 1_000 }))
  expect((await chat(bearer, hello())).status).toBe(429)
  const info = (await (await get('/v1/key', bearer)).json()) as {
    usage: { reserved_usd: string }
  }
  expect(info).toMatchObject({
    usage: { requests_in_progress: 1, requests_day: 1, spend_day_usd: '0' },
    remaining: { minute: null, day: 1, daily_spend_usd: null },
  })
  expect(Number(info.usage.reserved_usd)).toBeGreaterThan(0)
  await running.text()
  expect(await (await get('/v1/key', bearer)).json()).toMatchObject({
    usage: { requests_in_progress: 0, reserved_usd: '0' },
  })
})

test('tokens of the minute are shown, with those that a request in progress holds', async () => {
  const deps = await furnish({ clock: handClock(NOON) })
  const { bearer } = await deps.issue({ tpm: 10_000 })
  const { get, chat } = openApi(deps)
  const shown = async () => {
    const info = (await (await get('/v1/key', bearer)).json()) as Record<
      'usage' | 'remaining',
      { tokens_minute: number }
    >
    return [info.usage.tokens_minute, info.remaining.tokens_minute]
  }
  const running = await chat(bearer, hello({ stream: true, max_tokens: 1_000 }))
  const [held = 0, left] = await shown()
  expect(held).toBeGreaterThan(1_000)
  expect(left).toBe(10_000 - held)
  await running.text()
  expect(await shown()).toEqual([6, 9_994])
})

test('`limit` is the monthly spend limit, or the daily one where only that is set', async () => {
  const deps = await furnish({ clock: handClock(NOON) })
  const { get, chat } = openApi(deps)
  for (const [limits, limit, left] of [
    [{}, null, null],
    [{ dailySpend: usd('0.000005') }, 0.000005, 0],
    [{ dailySpend: usd('5') }, 5, 4.999991],
    [{ monthlySpend: usd('50') }, 50, 49.999991],
    [{ dailySpend: usd('5'), monthlySpend: usd('50') }, 50, 49.999991],
  ] as const) {
    const { bearer, key } = await deps.issue(limits)
    await (await chat(bearer, hello())).text()
    const { data } = (await (await get('/v1/key', bearer)).json()) as { data: unknown }
    expect(data).toEqual({
      label: key.label,
      usage: 0.000009,
      usage_daily: 0.000009,
      usage_monthly: 0.000009,
      limit,
      limit_remaining: left,
      is_provisioning_key: false,
    })
  }
})

test('a key that expires shows when', async () => {
  const clock = handClock(NOON)
  const deps = await furnish({ clock })
  const { bearer, key } = await deps.issue()
  const { get } = openApi(deps)
  await deps.store.keys.amend(key.id, { expiresAt: instant(NOON + 1_000) }, anAct(clock.now()))
  expect(await (await get('/v1/key', bearer)).json()).toMatchObject({
    expires_at: '2026-08-22T12:00:01Z',
  })
  clock.advance(1_000)
  expect((await get('/v1/key', bearer)).status).toBe(401)
})

test('a provisioning key may read its own information', async () => {
  const deps = await furnish()
  const { bearer } = await deps.issue({}, 'provisioning')
  const { get } = openApi(deps)
  expect(await (await get('/v1/key', bearer)).json()).toMatchObject({
    kind: 'provisioning',
    data: { is_provisioning_key: true, limit: null, limit_remaining: null },
  })
})
