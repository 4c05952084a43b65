/** The pulse: what is remembered of requests that ended, and the figures made of it. */
import { describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import { type Instant, instant } from '#domain/clock.ts'
import {
  errorPercent,
  percentiles,
  readSpan,
  servedPercent,
  sharesOf,
  toFigures,
} from '#domain/snapshot/figures.ts'
import {
  CURVE_SECONDS,
  Endings,
  Latest,
  MAX_ENDINGS,
  Pulse,
  Seconds,
} from '#domain/snapshot/pulse.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { aClaim, aKey, anActivity, usd } from '#test/support/nouns.ts'

const NOW = instant(Date.parse('2026-11-21T12:00:00Z'))
const ago = (seconds: number): Instant => instant(NOW - seconds * 1000)
const anEnding = (more: Partial<ActivityEntry>): ActivityEntry =>
  anActivity(aClaim(aKey(NOW), NOW), more)
const answered = (outputTokens: number, totalMs: number, firstEventMs: number | null = 100) =>
  anEnding({ totalMs, firstEventMs, usage: { ...NO_USAGE, inputTokens: 10, outputTokens } })

describe('endings', () => {
  test('are told newest first, as far back as asked', () => {
    const endings = new Endings()
    for (const seconds of [300, 60, 10, 0]) endings.note(answered(seconds, 5), ago(seconds))
    expect([...endings.after(ago(60))].map(({ outputTokens }) => outputTokens)).toEqual([0, 10])
    expect([...endings.after(ago(9_999))]).toHaveLength(4)
    expect(endings.reachesBackTo).toBeNull()
  })

  test('keep the newest when there are too many, and say since when they are all there', () => {
    const endings = new Endings()
    const surplus = 1_000
    for (let i = 0; i < MAX_ENDINGS + surplus; i++) endings.note(answered(i, 5), instant(i + 1))
    const kept = [...endings.after(instant(0))]
    expect(kept).toHaveLength(MAX_ENDINGS)
    expect(kept[0]?.outputTokens).toBe(MAX_ENDINGS + surplus - 1)
    expect(kept.at(-1)?.outputTokens).toBe(surplus)
    // As it grew, nothing changed places.
    expect(kept.every(({ outputTokens, endedAt }) => outputTokens === endedAt - 1)).toBe(true)
    expect(endings.reachesBackTo).toBe(surplus + 1)
    expect(readSpan(endings, instant(MAX_ENDINGS + surplus), 3_600_000).ms).toBe(MAX_ENDINGS - 1)
  })
})

test('what was put in last is kept, and what came since a look is told once', () => {
  const latest = new Latest<number>(3)
  for (const one of [1, 2, 3, 4, 5]) latest.put(one)
  expect([...latest.since()]).toEqual([5, 4, 3])
  expect([...latest.since(4)]).toEqual([5])
  expect([...latest.since(latest.count)]).toEqual([])
})

describe('curves', () => {
  const sum = (points: readonly number[]): number => points.reduce((a, b) => a + b, 0)

  test('have a request where it ended, and its tokens along its way', () => {
    const seconds = new Seconds()
    seconds.note(answered(100, 10_100), ago(0))
    const { requestsPerSecond, tokensPerSecond, firstEventMs } = seconds.curves(NOW, [])
    expect([requestsPerSecond.length, requestsPerSecond.at(-1), sum(requestsPerSecond)]).toEqual([
      60, 0.2, 0.2,
    ])
    expect(tokensPerSecond.filter((one) => one > 0)).toHaveLength(3)
    expect(sum(tokensPerSecond) * 5).toBeCloseTo(100)
    expect([firstEventMs.at(-1), firstEventMs.at(-2)]).toEqual([100, null])
  })

  test('have the tokens of what has not ended, and no more of what is long gone', () => {
    const seconds = new Seconds()
    seconds.note(answered(60, 1_000), ago(CURVE_SECONDS + 20))
    const running = { fromMs: ago(3), toMs: NOW, tokens: 40 }
    const curves = seconds.curves(NOW, [running])
    expect(sum(curves.tokensPerSecond) * 5).toBeCloseTo(40)
    expect(sum(curves.requestsPerSecond)).toBe(0)
  })

  test('an answer longer than the curve brings its part of it', () => {
    const seconds = new Seconds()
    seconds.note(answered(1_000, 1_000_000, 0), NOW)
    const { tokensPerSecond } = seconds.curves(NOW, [])
    expect(sum(tokensPerSecond) * 5).toBeGreaterThan(280)
    expect(sum(tokensPerSecond) * 5).toBeLessThan(320)
  })
})

describe('figures', () => {
  test('percentiles are of the nearest rank', () => {
    const values = Array.from({ length: 100 }, (_, i) => 100 - i)
    expect(percentiles(values)).toEqual({ p50: 50, p95: 95, p99: 99 })
    expect(percentiles([7])).toEqual({ p50: 7, p95: 7, p99: 7 })
    expect(percentiles([])).toEqual({ p50: null, p95: null, p99: null })
  })

  test('count by status; refusals have no latency, and who left is no error', () => {
    const { endings, note } = new Pulse()
    const refused = { provider: null, status: 429, code: 'rate_limit_exceeded' as const }
    note(answered(50, 1_100), ago(70))
    note(answered(50, 3_100), ago(5))
    note(anEnding({ ...refused, totalMs: 0, firstEventMs: null }), ago(4))
    note(anEnding({ ...refused, totalMs: 0, firstEventMs: null }), ago(3))
    note(anEnding({ status: 499, totalMs: 2_000, firstEventMs: null }), ago(2))
    note(
      anEnding({ status: 502, code: 'upstream_error', totalMs: 9_000, firstEventMs: null }),
      ago(1),
    )
    const figures = toFigures(readSpan(endings, NOW, 300_000).endings, { now: NOW, ms: 300_000 })
    expect(figures).toMatchObject({
      requests: 6,
      lastMinute: 5,
      ok: 3,
      failed: [
        { status: 429, count: 2 },
        { status: 502, count: 1 },
      ],
      totalMs: { p50: 2_000, p99: 9_000 },
      firstEventMs: { p50: 100 },
      outputTokens: 100,
      // 100 tokens in 1.0 + 3.0 seconds of answering.
      tokensPerSecond: 25,
    })
    expect(errorPercent(figures)).toBeCloseTo(100 / 6)
  })

  test('a minute that is not all remembered is told as if it were', () => {
    const { endings, note } = new Pulse()
    for (let i = 0; i < 30; i++) note(answered(1, 100), ago(i / 10))
    const { endings: read } = readSpan(endings, NOW, 300_000)
    expect(toFigures(read, { now: NOW, ms: 3_000 }).lastMinute).toBe(600)
    expect(toFigures(read, { now: NOW, ms: 300_000 }).lastMinute).toBe(30)
  })

  test('shares are of what was charged, the largest first', () => {
    const { endings, note } = new Pulse()
    note(anEnding({ model: 'a/x', cost: usd('1') }), NOW)
    note(anEnding({ model: 'a/y', cost: usd('3') }), NOW)
    note(anEnding({ model: 'a/x', cost: usd('1') }), NOW)
    note(anEnding({ model: 'a/z', provider: null }), NOW)
    const { endings: read } = readSpan(endings, NOW, 1_000)
    expect(sharesOf(read, ({ model }) => model, 5)).toEqual([
      { name: 'a/y', costNanos: 3e9, percent: 60 },
      { name: 'a/x', costNanos: 2e9, percent: 40 },
    ])
  })

  test('a provider is not blamed for what a client did wrong', () => {
    const failure = (outcome: 'failed' | 'rejected' | 'no-image') => ({
      at: NOW,
      provider: 'acme',
      outcome,
      status: null,
    })
    expect(servedPercent(9, [failure('failed'), failure('rejected'), failure('no-image')])).toBe(90)
    expect(servedPercent(0, [])).toBeNull()
  })
})

test('a failure after which another answered is remembered too', () => {
  const pulse = new Pulse()
  const failed = {
    model: 'a/x',
    provider: 'acme',
    outcome: 'overloaded' as const,
    status: 529,
    reason: 'busy',
    ms: 1,
    operatorCost: usd('0'),
  }
  pulse.note(anEnding({ failedAttempts: [failed] }), NOW)
  expect([...pulse.failures.since()]).toEqual([
    { at: NOW, provider: 'acme', outcome: 'overloaded', status: 529 },
  ])
  expect([pulse.recent.count, pulse.errors.count]).toEqual([1, 0])
})
