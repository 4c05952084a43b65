/** What every engine promises about money at admission: ceilings, balance, holds and their one resolution. */

import { describe, expect, test } from 'vitest'
import { DAY_MS, type Day, dayOf, type Instant, instant, nextDay } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { Limits } from '#domain/limits.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const at = (text: string): Instant => instant(Date.parse(text))

export function spendingContract(bench: Bench): void {
  const usageOf = ({ id }: { readonly id: `key_${string}` }) =>
    bench.store.admissions.usage(id, bench.clock.now())
  const balance = async () => (await bench.store.accounts.find('acct_1'))?.balance

  test('the spend of all keys is reported for the day and for the month', async () => {
    const { key: first } = await bench.issue()
    const { key: second } = await bench.issue()
    await bench.spend(first, '0.25')
    await bench.spend(second, '0.5')
    await bench.store.keys.revoke(second.id, anAct(bench.clock.now()))
    const now = bench.clock.now()
    expect(await bench.store.admissions.spend(now)).toEqual({
      day: usd('0.75'),
      month: usd('0.75'),
    })
    const tomorrow = instant(now + 86_400_000)
    expect(await bench.store.admissions.spend(tomorrow)).toEqual({ day: 0n, month: usd('0.75') })
    const nextMonth = at('2026-09-01T00:00:00Z')
    expect(await bench.store.admissions.spend(nextMonth)).toEqual({ day: 0n, month: 0n })
  })

  test('the spend of an account is reported day by day, revoked keys included', async () => {
    const { key: first } = await bench.issue()
    const { key: second } = await bench.issue()
    const { admissions } = bench.store
    const today = dayOf(bench.clock.now())
    await bench.spend(first, '0.25')
    bench.clock.advance(DAY_MS)
    await bench.spend(first, '1')
    await bench.spend(second, '0.5')
    await bench.store.keys.revoke(second.id, anAct(bench.clock.now()))
    const of = { accountId: 'acct_1' }
    const days = [
      { ...of, day: today, spent: usd('0.25'), requests: 1 },
      { ...of, day: nextDay(today), spent: usd('1.5'), requests: 2 },
    ]
    expect(await admissions.spendByDay(today)).toEqual(days)
    expect(await admissions.spendByDay(nextDay(today))).toEqual(days.slice(1))
    expect(await admissions.spendByDay(nextDay(nextDay(today)))).toEqual([])
  })

  test('what the keys of an account spent is reported day by day, unless one was moved that had spent then', async () => {
    const { key: first } = await bench.issue()
    const { key: second } = await bench.issue({}, { madeBy: 'person_1' })
    const { accounts, admissions, keys } = bench.store
    const today = dayOf(bench.clock.now())
    const spent = (since: Day, before: Day, madeBy?: string, accountId: AccountId = 'acct_1') =>
      admissions.spendByKey({ accountId, since, before, ...(madeBy !== undefined && { madeBy }) })
    await bench.spend(first, '0.25')
    bench.clock.advance(DAY_MS)
    await bench.spend(first, '1')
    await bench.spend(second, '0.5')
    await bench.spend(second, '0.5')
    await keys.revoke(first.id, anAct(bench.clock.now()))
    const tomorrow = nextDay(today)
    const end = nextDay(tomorrow)
    const yesterdays = [{ keyId: first.id, day: today, spent: usd('0.25'), requests: 1 }]
    const ofFirst = [{ keyId: first.id, day: tomorrow, spent: usd('1'), requests: 1 }]
    const ofSecond = [{ keyId: second.id, day: tomorrow, spent: usd('1'), requests: 2 }]
    const all = [...yesterdays, ...ofFirst, ...ofSecond]
    expect(new Set(await spent(today, end))).toEqual(new Set(all))
    expect(await spent(today, tomorrow)).toEqual(yesterdays)
    expect(await spent(today, end, 'person_1')).toEqual(ofSecond)
    expect(await spent(end, nextDay(end))).toEqual([])
    await accounts.create(anAccount({ id: 'acct_2', name: 'b' }), anAct())
    expect(await spent(today, end, undefined, 'acct_2')).toEqual([])
    await keys.move(second.id, 'acct_2', anAct(bench.clock.now()))
    expect(await spent(today, end)).toBeNull()
    expect(await spent(today, end, undefined, 'acct_2')).toBeNull()
    expect(await spent(today, tomorrow)).toEqual(yesterdays)
  })

  test('a key’s spend, holds and requests in progress are read without its windows', async () => {
    const { key } = await bench.issue()
    const { admissions } = bench.store
    await bench.spend(key, '0.25')
    const { claim } = await bench.admit(key, '0.5')
    const tomorrow = instant(bench.clock.now() + 86_400_000)
    const { key: idle } = await bench.issue()
    const nothing = { spendDay: 0n, spendMonth: 0n, reserved: 0n, requestsInProgress: 0 }
    expect(await admissions.spending([key.id, idle.id], bench.clock.now())).toEqual([
      {
        spendDay: usd('0.25'),
        spendMonth: usd('0.25'),
        reserved: usd('0.5'),
        requestsInProgress: 1,
      },
      nothing,
    ])
    expect(await admissions.spending([], bench.clock.now())).toEqual([])
    await bench.settle(claim, null)
    expect(await admissions.spending([idle.id, key.id], tomorrow)).toEqual([
      nothing,
      { ...nothing, spendMonth: usd('0.25') },
    ])
    await expect(admissions.spending([key.id, 'key_none'], tomorrow)).rejects.toMatchObject({
      code: 'key_not_found',
    })
  })

  const ceilings = [
    ['dailySpend', 'daily_spend_limit_usd', 'daily_spend_limit_exceeded', '2026-08-23T00:00:00Z'],
    [
      'monthlySpend',
      'monthly_spend_limit_usd',
      'monthly_spend_limit_exceeded',
      '2026-09-01T00:00:00Z',
    ],
  ] as const

  describe.each(ceilings)('the ceiling %s', (limit, name, code, resets) => {
    const limits: Partial<Limits> = { [limit]: usd('1') }

    test('lets a lone request cross, and refuses the next', async () => {
      const { key } = await bench.issue(limits)
      await bench.spend(key, '0.99')
      await bench.spend(key, '5')
      const { refusal } = await bench.admit(key)
      expect(refusal).toEqual({
        code,
        limit: name,
        limitValue: '1.00',
        used: '5.99',
        resetsAt: at(resets),
        retryAfterSeconds: null,
      })
    })

    test('is exhausted when it is reached exactly', async () => {
      const { key } = await bench.issue(limits)
      await bench.spend(key, '0.999999999')
      await bench.spend(key, '0.000000001')
      expect((await bench.admit(key)).refusal?.code).toBe(code)
    })

    test('while anything is held, only what fits is admitted; the rest waits', async () => {
      const { key } = await bench.issue(limits)
      await bench.spend(key, '0.2')
      const { claim } = await bench.admit(key, '0.5')
      expect((await bench.admit(key, '0.300000001')).refusal).toEqual({
        code: 'spend_reserved',
        limit: name,
        limitValue: '1.00',
        used: '0.70',
        resetsAt: null,
        retryAfterSeconds: 1,
        held: { usd: '0.50', requests: 1 },
      })
      expect((await bench.admit(key, '0.3')).refusal).toBeNull()
      expect((await bench.admit(key, '0.000000001')).refusal?.code).toBe('spend_reserved')
      await bench.settle(claim, '0.1')
      expect((await bench.admit(key, '0.4')).refusal).toBeNull()
    })

    test('holds what it could cost, spends what it did cost, and gives a void back', async () => {
      const { key } = await bench.issue(limits)
      const { claim } = await bench.admit(key, '0.5')
      const other = await bench.admit(key, '0.25')
      expect(await usageOf(key)).toMatchObject({ reserved: usd('0.75'), spendDay: 0n })
      await bench.settle(claim, '0.125')
      expect(await usageOf(key)).toMatchObject({ reserved: usd('0.25'), spendDay: usd('0.125') })
      await bench.settle(other.claim, null)
      expect(await usageOf(key)).toMatchObject({ reserved: 0n, spendMonth: usd('0.125') })
    })

    test('T23: raised, it lets the next request through; lowered, it refuses it', async () => {
      const { key } = await bench.issue(limits)
      await bench.spend(key, '1')
      const amend = (value: string | null) =>
        bench.store.keys.amend(
          key.id,
          { limits: { [limit]: value === null ? null : usd(value) } },
          anAct(bench.clock.now()),
        )
      expect((await bench.admit(key)).refusal?.code).toBe(code)
      await amend('2')
      await bench.spend(key, '0.5')
      await amend('1.5')
      expect((await bench.admit(key)).refusal?.used).toBe('1.50')
      await amend(null)
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test('set for the first time, it counts what was spent before', async () => {
      const { key } = await bench.issue()
      await bench.spend(key, '3')
      await bench.store.keys.amend(key.id, { limits }, anAct(bench.clock.now()))
      expect((await bench.admit(key)).refusal).toMatchObject({ code, used: '3.00' })
    })

    test('of nothing refuses everything', async () => {
      const { key } = await bench.issue({ [limit]: usd('0') })
      expect((await bench.admit(key, '0')).refusal?.code).toBe(code)
    })

    test('is the key’s own', async () => {
      const { key } = await bench.issue(limits)
      const { key: other } = await bench.issue(limits)
      await bench.spend(key, '2')
      expect((await bench.admit(other)).refusal).toBeNull()
      expect(await usageOf(other)).toMatchObject({ spendDay: 0n })
    })

    test('T23: lifts when its period ends, to the millisecond', async () => {
      const { key } = await bench.issue(limits)
      await bench.spend(key, '2')
      bench.clock.set(instant(at(resets) - 1))
      expect((await bench.admit(key)).refusal?.code).toBe(code)
      bench.clock.set(at(resets))
      expect((await bench.admit(key)).refusal).toBeNull()
    })
  })

  describe('a request that crosses midnight', () => {
    test('is charged to the day that admitted it, and holds nothing of the next', async () => {
      const { key } = await bench.issue({ dailySpend: usd('1') })
      bench.clock.set(at('2026-08-22T23:59:59.999Z'))
      const { claim } = await bench.admit(key, '0.9')
      bench.clock.set(at('2026-08-23T00:00:00Z'))
      const { claim: morning } = await bench.admit(key, '5')
      await bench.settle(claim, '0.8')
      expect(await usageOf(key)).toMatchObject({ spendDay: 0n, spendMonth: usd('0.8') })
      await bench.settle(morning, '0.3')
      expect(await usageOf(key)).toMatchObject({ spendDay: usd('0.3'), spendMonth: usd('1.1') })
      await bench.restart()
      expect(await usageOf(key)).toMatchObject({ spendDay: usd('0.3'), spendMonth: usd('1.1') })
    })

    test('of the month’s end leaves both day and month behind', async () => {
      const { key } = await bench.issue({ monthlySpend: usd('1') })
      bench.clock.set(at('2026-08-31T23:59:59.999Z'))
      const { claim } = await bench.admit(key, '0.9')
      bench.clock.set(at('2026-09-01T00:00:00Z'))
      // It is still in progress, and still reserves the account's money.
      expect(await usageOf(key)).toMatchObject({ reserved: usd('0.9'), requestsInProgress: 1 })
      await bench.settle(claim, '0.8')
      expect(await usageOf(key)).toMatchObject({ spendDay: 0n, spendMonth: 0n, reserved: 0n })
      expect(await balance()).toBe(usd('99.2'))
      await bench.restart()
      expect(await usageOf(key)).toMatchObject({ spendDay: 0n, spendMonth: 0n })
    })

    test('of 29 February in a leap year is in February', async () => {
      const { key } = await bench.issue({ monthlySpend: usd('1') })
      bench.clock.set(at('2028-02-28T23:00:00Z'))
      await bench.spend(key, '0.5')
      bench.clock.set(at('2028-02-29T23:00:00Z'))
      expect(await usageOf(key)).toMatchObject({ spendDay: 0n, spendMonth: usd('0.5') })
      bench.clock.set(at('2028-03-01T00:00:00Z'))
      expect(await usageOf(key)).toMatchObject({ spendMonth: 0n })
    })

    test('under a clock that steps back opens no second day', async () => {
      const { key } = await bench.issue({ dailySpend: usd('1') })
      bench.clock.set(at('2026-08-23T00:00:00.500Z'))
      await bench.spend(key, '1')
      bench.clock.set(at('2026-08-22T23:59:59.500Z'))
      expect((await bench.admit(key)).refusal).toMatchObject({
        code: 'daily_spend_limit_exceeded',
        resetsAt: at('2026-08-24T00:00:00Z'),
      })
    })

    test('is the true day’s again once a clock that was a year ahead is set back', async () => {
      const { key } = await bench.issue({ dailySpend: usd('1'), monthlySpend: usd('2') })
      const today = bench.clock.now()
      await bench.spend(key, '0.4')
      bench.clock.advance(365 * DAY_MS)
      await bench.spend(key, '1')
      expect((await bench.admit(key)).refusal?.code).toBe('daily_spend_limit_exceeded')
      bench.clock.set(today)
      expect(await usageOf(key)).toMatchObject({ spendDay: usd('0.4'), spendMonth: usd('0.4') })
      await bench.spend(key, '0.6')
      expect((await bench.admit(key)).refusal?.code).toBe('daily_spend_limit_exceeded')
    })
  })

  describe('the balance', () => {
    test('lets a lone request cross below nothing, and refuses the next until a top-up', async () => {
      const { key } = await bench.issue()
      await bench.spend(key, '100.5')
      const { refusal } = await bench.admit(key)
      expect(refusal).toMatchObject({
        code: 'insufficient_balance',
        limitValue: '-0.50',
        resetsAt: null,
        retryAfterSeconds: null,
      })
      await bench.topUp('0.5')
      expect((await bench.admit(key)).refusal?.code).toBe('insufficient_balance')
      await bench.topUp('0.01')
      expect((await bench.admit(key)).refusal).toBeNull()
    })

    test('is held by all keys of the account together', async () => {
      const { key } = await bench.issue()
      const { key: other } = await bench.issue()
      await bench.admit(key, '60')
      expect((await bench.admit(other, '40.01')).refusal).toMatchObject({
        code: 'spend_reserved',
        limit: 'balance_usd',
        used: '60.00',
        held: { usd: '60.00', requests: 1 },
      })
      expect((await bench.admit(other, '40')).refusal).toBeNull()
    })

    test('of one account is not another’s', async () => {
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const { key } = await bench.issue({}, { accountId: 'acct_2' })
      expect((await bench.admit(key)).refusal?.code).toBe('insufficient_balance')
      await bench.topUp('1', 'acct_2')
      await bench.spend(key, '0.25')
      expect((await bench.store.accounts.find('acct_2'))?.balance).toBe(usd('0.75'))
      expect(await balance()).toBe(usd('100'))
    })

    test('T14: two hundred at once at a balance for one: one is admitted', async () => {
      const { key } = await bench.issue()
      const claims = Array.from({ length: 200 }, () => aClaim(key, bench.clock.now(), usd('60')))
      const { admissions } = bench.store
      const verdicts = await Promise.all(claims.map((claim) => admitClaim(admissions, claim)))
      expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(1)
    })
  })

  test('the order of verdicts: spent money, windows, concurrency, reserved money', async () => {
    const { key } = await bench.issue({
      rpm: 1,
      concurrency: 1,
      dailySpend: usd('1'),
      monthlySpend: usd('1'),
    })
    const { claim } = await bench.admit(key, '0.9')
    const code = async () => (await bench.admit(key, '0.9')).refusal?.code
    const amend = (limits: Partial<Limits>) =>
      bench.store.keys.amend(key.id, { limits }, anAct(bench.clock.now()))
    expect(await code()).toBe('rate_limit_exceeded')
    await amend({ rpm: null })
    expect(await code()).toBe('concurrency_limit_exceeded')
    await amend({ concurrency: null })
    expect(await code()).toBe('spend_reserved')
    await amend({ rpm: 1, concurrency: 1 })
    await bench.settle(claim, '200')
    expect(await code()).toBe('daily_spend_limit_exceeded')
    await amend({ dailySpend: null })
    expect(await code()).toBe('monthly_spend_limit_exceeded')
    await amend({ monthlySpend: null })
    expect(await code()).toBe('insufficient_balance')
    await bench.topUp('200')
    expect(await code()).toBe('rate_limit_exceeded')
  })

  describe('a hold', () => {
    test('is settled once: what comes later changes nothing', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '1')
      expect(await bench.settle(claim, '0.4')).toBe(true)
      for (const again of ['0.4', '7', null]) expect(await bench.settle(claim, again)).toBe(false)
      expect(await balance()).toBe(usd('99.6'))
      expect(await usageOf(key)).toMatchObject({ spendDay: usd('0.4'), requestsInProgress: 0 })
      expect(await bench.store.ledger.list({ keyId: key.id, limit: 9 })).toHaveLength(1)
    })

    test('settled twice in one breath is settled once', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '1')
      const settled = await Promise.all(['0.4', '0.4', null].map((one) => bench.settle(claim, one)))
      expect(settled.filter(Boolean)).toHaveLength(1)
      expect(await balance()).toBe(usd('99.6'))
    })

    test('is voided once, and costs nothing', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '1')
      expect(await bench.settle(claim, null)).toBe(true)
      expect(await bench.settle(claim, '1')).toBe(false)
      expect(await balance()).toBe(usd('100'))
      expect(await bench.store.ledger.list({ keyId: key.id, limit: 9 })).toEqual([])
    })

    test('that never was cannot be settled, nor can one that was refused', async () => {
      const { key } = await bench.issue({ concurrency: 1 })
      expect(await bench.settle(aClaim(key, bench.clock.now()), '1')).toBe(false)
      await bench.admit(key)
      const { claim, refusal } = await bench.admit(key)
      expect(refusal).not.toBeNull()
      expect(await bench.settle(claim, '1')).toBe(false)
      expect(await balance()).toBe(usd('100'))
    })

    test('is counted by the store’s health', async () => {
      const { key } = await bench.issue()
      const openHolds = async () => (await bench.store.health({ checkIntegrity: false })).openHolds
      const { claim } = await bench.admit(key)
      await bench.admit(key)
      expect(await openHolds()).toBe(2)
      await bench.settle(claim, null)
      expect(await openHolds()).toBe(1)
    })

    test('moves everything together: entry, balance, sums and line', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '1')
      bench.clock.advance(5_000)
      const charge = aCharge(usd('0.4'))
      const activity = anActivity(claim, {
        endUser: 'someone',
        stream: true,
        usage: charge.usage,
        usageSource: charge.source,
        cost: charge.amount,
        costRub: charge.costRub,
      })
      const settlement = { at: bench.clock.now(), charge, activity, answer: null }
      await bench.store.admissions.settle(claim.generationId, settlement)
      expect(await bench.store.activity.find(claim.generationId)).toEqual(activity)
      const [entry] = await bench.store.ledger.list({ kind: 'charge', limit: 9 })
      expect(entry).toMatchObject({
        accountId: 'acct_1',
        kind: 'charge',
        amount: usd('-0.4'),
        at: bench.clock.now(),
        keyId: key.id,
        generationId: claim.generationId,
        rubPerUsd: 90_000_000n,
        priceVersion: 'price_1',
        note: null,
        ref: null,
      })
      expect(await balance()).toBe(usd('99.6'))
    })
  })
}
