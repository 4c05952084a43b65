/** What every engine promises about the usage report: exact sums, whatever is grouped by what. */

import { beforeEach, describe, expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import { DAY_MS, dayOf, HOUR_MS, later } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY, type RubMicros, type UsdNanos } from '#domain/money.ts'
import { completionTokens, NO_USAGE, promptTokens, type Usage } from '#domain/usage.ts'
import {
  NO_SUM,
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageQuery,
} from '#domain/usage-report.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function usageContract(bench: Bench): void {
  let worker: ApiKey
  let other: ApiKey

  beforeEach(async () => {
    worker = (await bench.issue()).key
    other = (await bench.issue()).key
  })

  /** One request, admitted and charged now. */
  async function serve(key: ApiKey, cost: string, stated: Partial<ActivityEntry> = {}) {
    const claim = aClaim(key, bench.clock.now(), NO_MONEY)
    const { admitted } = await admitClaim(bench.store.admissions, claim)
    if (!admitted) throw new Error('it was not admitted')
    const charge = aCharge(usd(cost))
    const activity = anActivity(claim, { cost: charge.amount, costRub: charge.costRub, ...stated })
    const at = bench.clock.now()
    await bench.store.admissions.settle(claim.generationId, { answer: null, at, charge, activity })
    return claim
  }

  const report = (stated: Partial<UsageQuery> = {}) =>
    bench.store.activity.usage({ by: 'key', thenBy: null, top: 100, ...stated })

  const rowsOf = async (stated: Partial<UsageQuery>) =>
    (await report(stated)).rows.map(({ by, thenBy, requests, cost }) => [
      by,
      thenBy,
      requests,
      cost,
    ])

  test('the keys that one person made are added up alone', async () => {
    const { key: hers } = await bench.issue({}, { madeBy: 'usr_ann' })
    await bench.topUp('10')
    await serve(hers, '0.25')
    await serve(worker, '1')
    const all = await report({ madeBy: 'usr_ann' })
    expect(all.rows.map(({ by }) => by)).toEqual([hers.id])
    expect(all.total).toMatchObject({ requests: 1, cost: usd('0.25') })
  })

  test('nothing adds up to nothing', async () => {
    expect(await report()).toEqual({ rows: [], other: NO_SUM, others: 0, total: NO_SUM })
  })

  test('the trend is of each hour that had requests, of one account or all', async () => {
    const { activity } = bench.store
    const since = bench.clock.now()
    const hour = Math.floor(since / HOUR_MS) * HOUR_MS
    expect(await activity.trend({ since })).toEqual([])
    await bench.topUp('10')
    await serve(worker, '0.25', { status: 200, firstEventMs: 300 })
    await serve(other, '0.5', { status: 502, firstEventMs: null })
    bench.clock.advance(2 * HOUR_MS)
    await serve(worker, '1', { status: 200, firstEventMs: 100 })
    const all = await activity.trend({ since })
    expect(all.map((one) => [one.hour, one.requests, one.failed, one.answered, one.cost])).toEqual([
      [hour, 2, 1, 1, usd('0.75')],
      [hour + 2 * HOUR_MS, 1, 0, 1, usd('1')],
    ])
    expect(all.map(({ firstEventMs }) => firstEventMs)).toEqual([300, 100])
    expect(await activity.trend({ since, accountId: worker.accountId })).toEqual(all)
    expect(await activity.trend({ since, accountId: 'acct_none' })).toEqual([])
    expect(await activity.trend({ since: bench.clock.now() })).toHaveLength(1)
  })

  test('every class of usage is in its sum, exactly', async () => {
    const usage: Usage = {
      ...NO_USAGE,
      inputTokens: 1,
      cacheReadTokens: 20,
      cacheWriteTokens: 300,
      imageInputTokens: 4_000,
      outputTokens: 50_000,
      reasoningTokens: 10,
      imageOutputTokens: 600_000,
      inputImages: 9,
      outputImages: 7,
    }
    await serve(worker, '0.000000001', { usage })
    for (let i = 0; i < 2; i++) {
      await bench.topUp('8000000')
      await serve(worker, '8000000', { usage })
    }
    const [row] = (await report()).rows
    expect(row).toEqual({
      by: worker.id,
      thenBy: null,
      requests: 3,
      promptTokens: 3 * promptTokens(usage),
      completionTokens: 3 * completionTokens(usage),
      images: 21,
      // More than a number can tell exactly.
      cost: 16_000_000_000_000_001n,
      costRub: 1_440_000_000_000_000n,
    })
  })

  test('the refused used nothing, those that failed are requests', async () => {
    bench.store.activity.note(
      anActivity(aClaim(worker, bench.clock.now()), { endedBy: 'refused', status: 429 }),
    )
    const { claim } = await bench.admit(worker)
    await bench.settle(claim, null)
    expect(await rowsOf({})).toEqual([[worker.id, null, 1, 0n]])
  })

  describe('groups', () => {
    const nine = (hour: number) => `2026-08-22T${hour}:00:00Z`

    beforeEach(async () => {
      const { clock } = bench
      await serve(worker, '0.3', { model: 'a/x', provider: 'a', endUser: 'ann' })
      await serve(other, '0.2', { model: 'a/y', provider: 'a', endUser: 'ann' })
      clock.advance(DAY_MS)
      await serve(worker, '0.2', {
        model: 'a/y',
        provider: 'b',
        endUser: "o'neil",
        surface: 'messages',
      })
      clock.advance(3_600_000)
      await serve(worker, '0.1', { model: 'a/y', provider: null, endUser: null })
    })

    test.each<[UsageDimension, (readonly [string | number | null, number, string])[]]>([
      [
        'user',
        [
          ['ann', 2, '0.5'],
          ["o'neil", 1, '0.2'],
          [null, 1, '0.1'],
        ],
      ],
      [
        'model',
        [
          ['a/y', 3, '0.5'],
          ['a/x', 1, '0.3'],
        ],
      ],
      [
        'provider',
        [
          ['a', 2, '0.5'],
          ['b', 1, '0.2'],
          [null, 1, '0.1'],
        ],
      ],
      [
        'surface',
        [
          ['chat', 3, '0.6'],
          ['messages', 1, '0.2'],
        ],
      ],
      [
        'day',
        [
          [20_687, 2, '0.5'],
          [20_688, 2, '0.3'],
        ],
      ],
      [
        'hour',
        [
          [Date.parse(nine(12)), 2, '0.5'],
          [Date.parse(nine(12)) + DAY_MS, 1, '0.2'],
          [Date.parse(nine(13)) + DAY_MS, 1, '0.1'],
        ],
      ],
    ])('by %s, the dearest first', async (by, expected) => {
      expect(await rowsOf({ by })).toEqual(
        expected.map(([name, requests, cost]) => [name, null, requests, usd(cost)]),
      )
    })

    test('by key, and further by model', async () => {
      expect(await rowsOf({ thenBy: 'model' })).toEqual(
        [
          [worker.id, 'a/x', 1, usd('0.3')],
          [worker.id, 'a/y', 2, usd('0.3')],
          [other.id, 'a/y', 1, usd('0.2')],
        ].sort((a, b) => Number(b[3]) - Number(a[3]) || Number(b[2]) - Number(a[2])),
      )
    })

    test('every way of grouping adds up to the same whole', async () => {
      const { total } = await report()
      expect(total).toMatchObject({ requests: 4, cost: usd('0.8') })
      for (const by of USAGE_DIMENSIONS) {
        for (const thenBy of [null, ...USAGE_DIMENSIONS]) {
          if (thenBy !== by) expect((await report({ by, thenBy })).total).toEqual(total)
        }
      }
    })

    test('groups beyond the most expensive are summed into one', async () => {
      const all = await report({ by: 'user' })
      const cut = await report({ by: 'user', top: 1 })
      expect(cut.rows).toEqual(all.rows.slice(0, 1))
      expect(cut).toMatchObject({
        others: 2,
        other: { requests: 2, cost: usd('0.3') },
        total: all.total,
      })
      expect((await report({ by: 'user', top: 3 })).others).toBe(0)
    })

    test('of one account', async () => {
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'two' }), anAct())
      const { key } = await bench.issue({}, { accountId: 'acct_2' })
      await bench.topUp('5', 'acct_2')
      await serve(key, '0.7', { accountId: 'acct_2' })
      expect(await rowsOf({ accountId: 'acct_2' })).toEqual([[key.id, null, 1, usd('0.7')]])
      expect((await report({ accountId: 'acct_1' })).total.requests).toBe(4)
    })
  })

  test('a day is that of admission, as the ceilings count it, and its sum is theirs', async () => {
    const { clock } = bench
    const midnight = dayOf(later(clock.now(), DAY_MS)) * DAY_MS
    clock.set((midnight - 5) as never)
    const arrivedAt = clock.now()
    clock.set(midnight as never)
    // Arrived before midnight, its body came after it.
    const claim = { ...aClaim(worker, arrivedAt, NO_MONEY), at: clock.now() }
    await admitClaim(bench.store.admissions, claim)
    const charge = aCharge(usd('0.5'))
    const activity = anActivity(claim, { startedAt: arrivedAt, queuedMs: 5, cost: charge.amount })
    await bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: clock.now(),
      charge,
      activity,
    })
    const day = dayOf(clock.now())
    expect(await rowsOf({ by: 'day' })).toEqual([[day, null, 1, usd('0.5')]])
    const [since, until] = [later(clock.now(), 0), later(clock.now(), 1)]
    expect((await report({ since, until })).total.cost).toBe(usd('0.5'))
    expect((await report({ since: until })).total.requests).toBe(0)
    expect((await report({ until: since })).total.requests).toBe(0)
    expect((await bench.store.admissions.spend(clock.now())).day).toBe(usd('0.5'))
  })

  test('many groups, in many slices, while requests go on: each request once, or not yet', async () => {
    const CHARGED = {
      cost: 7n as UsdNanos,
      costRub: 3n as RubMicros,
      usageSource: 'provider',
    } as const
    for (let i = 0; i < 3_000; i++)
      await serve(worker, '0.000000007', { ...CHARGED, endUser: `u${i % 2_500}` })
    let reporting = true
    const reports = (async () => {
      const found = [
        await report({ by: 'user', top: 10 }),
        await report({ by: 'user', thenBy: 'hour' }),
      ]
      reporting = false
      return found
    })()
    let served = 0
    while (reporting) {
      await serve(worker, '0.000000007', { ...CHARGED, endUser: 'meanwhile' })
      served++
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { rows, other, total } of await reports) {
      expect(total.cost).toBe(BigInt(total.requests) * 7n)
      expect(total.costRub).toBe(BigInt(total.requests) * 3n)
      const shown = rows.reduce((sum, row) => sum + row.requests, 0)
      expect(shown + other.requests).toBe(total.requests)
      expect(total.requests).toBeLessThanOrEqual(3_000 + served)
      expect(total.requests).toBeGreaterThanOrEqual(3_000)
    }
    expect(served).toBeGreaterThan(0)
    const after = await report({ by: 'user', top: 1 })
    expect(after.total.requests).toBe(3_000 + served)
    expect(after.others).toBe(2_500)
  })
}
