/** What every engine promises about sliding windows and requests in progress. */

import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { QuotaReading } from '#domain/window.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aClaim, anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function windowsContract(bench: Bench): void {
  const rulers = [
    ['rpm', 'rpm_limit', MINUTE_MS],
    ['rpd', 'rpd_limit', DAY_MS],
  ] as const

  describe.each(rulers)('the window of %s', (limit, name, spanMs) => {
    test('frees a slot exactly one span after its own request', async () => {
      const { key } = await bench.issue({ [limit]: 2 })
      await bench.spend(key, '0.001')
      bench.clock.advance(1_500)
      await bench.spend(key, '0.001')
      bench.clock.advance(spanMs - 1_501)
      const { refusal } = await bench.admit(key)
      expect(refusal).toMatchObject({ code: 'rate_limit_exceeded', limit: name, used: 2 })
      expect(refusal).toMatchObject({ limitValue: 2, retryAfterSeconds: 1 })
      expect(refusal?.resetsAt).toBe(bench.clock.now() + 1)
      bench.clock.advance(1)
      await bench.spend(key, '0.001')
      bench.clock.advance(1_499)
      expect((await bench.admit(key)).refusal?.code).toBe('rate_limit_exceeded')
      bench.clock.advance(1)
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test.each(['key', 'account'] as const)(
      'who asks with those who take the last slots of a %s is told when the first of them frees',
      async (of) => {
        const { key } = await bench.issue(of === 'key' ? { [limit]: 2 } : {})
        const now = bench.clock.now()
        // The day has begun, and without a slot: otherwise what is taken together is written one by one.
        const { key: spent } = await bench.issue({ dailySpend: usd('0') })
        expect((await bench.admit(spent)).refusal?.code).toBe('daily_spend_limit_exceeded')
        if (of === 'account') {
          await bench.store.accounts.amend(key.accountId, { limits: { [limit]: 2 } }, anAct(now))
        }
        const asked = await Promise.all([1, 2, 3, 4].map(() => bench.admit(key)))
        const refusal = { limit: name, resetsAt: now + spanMs, retryAfterSeconds: spanMs / 1_000 }
        expect(asked).toMatchObject([
          ...[{ refusal: null }, { refusal: null }],
          ...[{ refusal }, { refusal }],
        ])
      },
    )

    test('one that is judged behind a later one is told of no longer wait than the span', async () => {
      const { key } = await bench.issue({ [limit]: 1 })
      await bench.spend(key, '0.001')
      bench.clock.advance(-1_500)
      const { refusal } = await bench.admit(key)
      expect(refusal?.retryAfterSeconds).toBe(spanMs / 1_000)
      const [quota] = await bench.store.admissions.quota([key.id], bench.clock.now())
      expect((quota?.minute ?? quota?.day)?.resetSeconds).toBe(spanMs / 1_000)
    })

    test('counts voided requests too, and never a refused one', async () => {
      const { key } = await bench.issue({ [limit]: 2, concurrency: 1 })
      const { claim } = await bench.admit(key)
      expect((await bench.admit(key)).refusal?.code).toBe('concurrency_limit_exceeded')
      expect((await bench.admit(key)).refusal?.code).toBe('concurrency_limit_exceeded')
      await bench.settle(claim, null)
      await bench.spend(key, '0.001')
      expect((await bench.admit(key)).refusal?.code).toBe('rate_limit_exceeded')
    })

    test('a new limit counts the requests before it', async () => {
      const { key } = await bench.issue()
      for (let n = 0; n < 3; n++) {
        await bench.spend(key, '0.001')
        bench.clock.advance(1_000)
      }
      await bench.store.keys.amend(key.id, { limits: { [limit]: 3 } }, anAct(bench.clock.now()))
      expect((await bench.admit(key)).refusal?.code).toBe('rate_limit_exceeded')
      bench.clock.advance(spanMs - 3_000)
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test('a lowered limit holds at once, a raised one too, and neither forgets', async () => {
      const { key } = await bench.issue({ [limit]: 4 })
      for (let n = 0; n < 3; n++) {
        await bench.spend(key, '0.001')
        bench.clock.advance(1_000)
      }
      const amend = (value: number | null) =>
        bench.store.keys.amend(key.id, { limits: { [limit]: value } }, anAct(bench.clock.now()))
      await amend(2)
      const { refusal } = await bench.admit(key)
      expect(refusal).toMatchObject({ limitValue: 2, used: 3 })
      // Two of the three have to leave: the second one did so a second after the first.
      expect(refusal?.resetsAt).toBe(bench.clock.now() - 2_000 + spanMs)
      await amend(3)
      expect((await bench.admit(key)).refusal?.used).toBe(3)
      await amend(4)
      await bench.spend(key, '0.001')
      expect((await bench.admit(key)).refusal?.used).toBe(4)
      await amend(null)
      await bench.spend(key, '0.001')
      await amend(5)
      expect((await bench.admit(key)).refusal?.used).toBe(5)
    })

    test('raised, it knows the requests that a smaller limit had no need of', async () => {
      const { key } = await bench.issue()
      for (let n = 0; n < 4; n++) await bench.spend(key, '0.001')
      const amend = (value: number) =>
        bench.store.keys.amend(key.id, { limits: { [limit]: value } }, anAct(bench.clock.now()))
      await amend(2)
      expect((await bench.admit(key)).refusal?.code).toBe('rate_limit_exceeded')
      await amend(4)
      expect((await bench.admit(key)).refusal?.used).toBe(4)
      await amend(5)
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test('tells what is left', async () => {
      const { key } = await bench.issue({ [limit]: 2 })
      const side = limit === 'rpm' ? 'minute' : 'day'
      const read = async () => {
        const [quota] = await bench.store.admissions.quota([key.id], bench.clock.now())
        return quota as QuotaReading
      }
      expect((await read())[side]).toEqual({ limit: 2, remaining: 2, resetSeconds: 0 })
      const { verdict } = await bench.admit(key)
      expect(verdict.quota[side]).toEqual({ limit: 2, remaining: 1, resetSeconds: spanMs / 1_000 })
      bench.clock.advance(500)
      expect((await read())[side]).toEqual({
        limit: 2,
        remaining: 1,
        resetSeconds: spanMs / 1_000,
      })
      bench.clock.advance(501)
      expect((await read())[side]?.resetSeconds).toBe(spanMs / 1_000 - 1)
      expect((await read())[side === 'minute' ? 'day' : 'minute']).toBeNull()
    })
  })

  test('of several keys it is told what is left of each, in their order', async () => {
    const { key } = await bench.issue({ rpm: 2 })
    const { key: free } = await bench.issue()
    const { key: idle } = await bench.issue({ rpd: 5 })
    await bench.spend(key, '0.001')
    const left = [
      { minute: { limit: 2, remaining: 1, resetSeconds: 60 }, day: null, tokens: null },
      { minute: null, day: null, tokens: null },
      { minute: null, day: { limit: 5, remaining: 5, resetSeconds: 0 }, tokens: null },
    ]
    const read = (keys: readonly ApiKey[]) =>
      bench.store.admissions.quota(
        keys.map(({ id }) => id),
        bench.clock.now(),
      )
    expect(await read([key, free, idle])).toEqual(left)
    await bench.restart()
    expect(await read([idle, free, key])).toEqual(left.toReversed())
    expect(await read([])).toEqual([])
  })

  test('the minute is judged before the day, both before concurrency', async () => {
    const { key } = await bench.issue({ rpm: 1, rpd: 1, concurrency: 1 })
    await bench.admit(key)
    expect((await bench.admit(key)).refusal?.limit).toBe('rpm_limit')
    bench.clock.advance(MINUTE_MS)
    expect((await bench.admit(key)).refusal?.limit).toBe('rpd_limit')
    bench.clock.advance(DAY_MS)
    expect((await bench.admit(key)).refusal?.limit).toBe('concurrency_limit')
  })

  test('a request in progress frees its place when it ends, whatever its end', async () => {
    const { key } = await bench.issue({ concurrency: 2 })
    const first = await bench.admit(key)
    const second = await bench.admit(key)
    expect((await bench.admit(key)).refusal).toEqual({
      code: 'concurrency_limit_exceeded',
      limit: 'concurrency_limit',
      limitValue: 2,
      used: 2,
      resetsAt: null,
      retryAfterSeconds: 1,
    })
    await bench.settle(first.claim, '0.001')
    const third = await bench.admit(key)
    expect(third.refusal).toBeNull()
    await bench.settle(second.claim, null)
    expect((await bench.admit(key)).refusal).toBeNull()
  })

  test('T14: two hundred at once for ten slots: ten are admitted', async () => {
    for (const limit of ['rpm', 'rpd', 'concurrency'] as const) {
      const { key } = await bench.issue({ [limit]: 10 })
      const claims = Array.from({ length: 200 }, () => aClaim(key, bench.clock.now()))
      const { admissions } = bench.store
      const verdicts = await Promise.all(claims.map((claim) => admitClaim(admissions, claim)))
      expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(10)
    }
  })

  test('one key’s requests are not another’s', async () => {
    const { key } = await bench.issue({ rpm: 1, concurrency: 1 })
    const { key: other } = await bench.issue({ rpm: 1, concurrency: 1 })
    await bench.admit(key)
    expect((await bench.admit(key)).refusal).not.toBeNull()
    expect((await bench.admit(other)).refusal).toBeNull()
  })

  test('usage counts requests with a limit and without', async () => {
    const { key: limited } = await bench.issue({ rpm: 5, rpd: 5 })
    const { key: free } = await bench.issue()
    for (const key of [limited, free]) {
      await bench.spend(key, '0.001')
      bench.clock.advance(MINUTE_MS)
      await bench.admit(key)
      const usage = await bench.store.admissions.usage(key.id, bench.clock.now())
      expect(usage).toMatchObject({ requestsMinute: 1, requestsDay: 2, requestsInProgress: 1 })
    }
  })

  test('a clock that was set back: requests more than a span ahead are in no window, nearer ones are', async () => {
    const { key } = await bench.issue()
    const { key: limited } = await bench.issue({ rpm: 3, rpd: 3 })
    const usageOf = ({ id }: typeof key) => bench.store.admissions.usage(id, bench.clock.now())
    for (const one of [key, limited]) for (let n = 0; n < 2; n++) await bench.spend(one, '0.001')
    bench.clock.advance(-HOUR_MS)
    for (const one of [key, limited]) await bench.spend(one, '0.001')
    expect(await usageOf(key)).toMatchObject({ requestsMinute: 1, requestsDay: 3 })
    // In memory the windows go on as if the clock had not been set back.
    expect(await usageOf(limited)).toMatchObject({ requestsMinute: 3, requestsDay: 3 })
    if (!bench.forgetsSteps) return
    await bench.restart()
    expect(await usageOf(limited)).toMatchObject({ requestsMinute: 1, requestsDay: 3 })
    bench.clock.advance(-2 * DAY_MS)
    await bench.restart()
    for (const one of [key, limited]) {
      expect(await usageOf(one)).toMatchObject({ requestsMinute: 0, requestsDay: 0 })
    }
    expect((await bench.admit(limited)).refusal).toBeNull()
  })

  test('an unknown key has neither quota nor usage nor admission', async () => {
    const { admissions } = bench.store
    const now = bench.clock.now()
    const { key } = await bench.issue()
    const stranger = { ...key, id: 'key_none' as const }
    for (const ask of [
      () => admissions.quota([key.id, 'key_none'], now),
      () => admissions.usage('key_none', now),
      () => admitClaim(admissions, aClaim(stranger, now)),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'key_not_found' })
    }
  })
}
