/** What every engine promises about the ledger: every movement once, and a balance that is their sum. */
import { describe, expect, test } from 'vitest'
import { DAY_MS, dayOf, instant, later } from '#domain/clock.ts'
import { MAX_USD_NANOS } from '#domain/money.ts'
import { anAccount, anAct, aTopUp, usd } from '#test/support/nouns.ts'
import { askMany, type Bench } from './bench.ts'

export function ledgerContract(bench: Bench): void {
  const balance = async () => (await bench.store.accounts.find('acct_1'))?.balance

  describe('a credit', () => {
    test('moves the balance and answers it', async () => {
      expect(await bench.topUp('0.000000001')).toBe(usd('100.000000001'))
      expect(await balance()).toBe(usd('100.000000001'))
    })

    test('is kept as it was given', async () => {
      const entry = aTopUp(bench.clock.now(), usd('5'), { note: 'invoice 7', ref: 'inv-7' })
      await bench.store.ledger.credit(entry, anAct())
      expect((await bench.store.ledger.list({ limit: 1 }))[0]).toEqual(entry)
    })

    test('an adjustment may take away, also below nothing', async () => {
      const entry = aTopUp(bench.clock.now(), usd('-100.5'), { kind: 'adjust' })
      expect(await bench.store.ledger.credit(entry, anAct())).toBe(usd('-0.5'))
    })

    test('with the same reference again is refused, and nothing moves', async () => {
      const once = () => aTopUp(bench.clock.now(), usd('5'), { ref: 'inv-7' })
      await bench.store.ledger.credit(once(), anAct())
      await expect(bench.store.ledger.credit(once(), anAct())).rejects.toMatchObject({
        code: 'already_exists',
      })
      expect(await balance()).toBe(usd('105'))
      expect(await bench.store.ledger.list({ limit: 9 })).toHaveLength(2)
    })

    test('is counted, and listed from any entry on', async () => {
      for (let n = 0; n < 5; n++) {
        await bench.store.ledger.credit(
          aTopUp(bench.clock.now(), usd('1'), { note: String(n) }),
          anAct(),
        )
        bench.clock.advance(1_000)
      }
      const all = await bench.store.ledger.list({ kind: 'top_up', limit: 9 })
      const before = all[1]?.id ?? 'led_none'
      expect(await bench.store.ledger.list({ kind: 'top_up', before, limit: 9 })).toEqual(
        all.slice(2),
      )
      expect(await bench.store.ledger.list({ before, limit: 1 })).toEqual([all[2]])
      expect(await bench.store.ledger.count({})).toBe(all.length)
      expect(await bench.store.ledger.count({ before })).toBe(all.length - 2)
      const until = all[0]?.at ?? bench.clock.now()
      expect(await bench.store.ledger.count({ until })).toBe(all.length - 1)
      expect(await bench.store.ledger.count({ accountId: 'acct_none' })).toBe(0)
    })

    test('is found by its reference', async () => {
      const entry = aTopUp(bench.clock.now(), usd('5'), { ref: 'inv-7' })
      await bench.store.ledger.credit(entry, anAct())
      await bench.topUp('6')
      expect(await bench.store.ledger.list({ ref: 'inv-7', limit: 9 })).toEqual([entry])
      expect(await bench.store.ledger.list({ ref: 'inv-8', limit: 9 })).toEqual([])
    })

    test('twenty at once with one reference: one is applied', async () => {
      const credits = Array.from({ length: 20 }, () =>
        bench.store.ledger.credit(aTopUp(bench.clock.now(), usd('5'), { ref: 'inv-7' }), anAct()),
      )
      const done = await Promise.allSettled(credits)
      expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await balance()).toBe(usd('105'))
    })

    test('for an unknown account is refused', async () => {
      const entry = aTopUp(bench.clock.now(), usd('5'), { accountId: 'acct_none' })
      await expect(bench.store.ledger.credit(entry, anAct())).rejects.toMatchObject({
        code: 'account_not_found',
      })
    })

    test('beyond what can be kept exactly is refused, in both directions', async () => {
      const { credit } = bench.store.ledger
      for (const amount of [MAX_USD_NANOS, -MAX_USD_NANOS - usd('100.000000001')]) {
        const entry = aTopUp(bench.clock.now(), amount as typeof MAX_USD_NANOS)
        await expect(credit(entry, anAct())).rejects.toMatchObject({ code: 'invalid_request' })
      }
      expect(await balance()).toBe(usd('100'))
    })

    test('counts charges that were settled a moment ago', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '60')
      const settled = bench.settle(claim, '60')
      expect(await bench.topUp('1')).toBe(usd('41'))
      await settled
      expect(await balance()).toBe(usd('41'))
      expect((await bench.admit(key, '41.5')).refusal).toBeNull()
    })
  })

  describe('the charge of a generation', () => {
    test('is found by the generation, as it was made, and outlives the process', async () => {
      const { key } = await bench.issue()
      const { generationId } = await bench.spend(key, '0.000085')
      const charge = await bench.store.ledger.chargeOf(generationId)
      expect(charge).toEqual({
        ...aTopUp(bench.clock.now(), usd('-0.000085')),
        id: expect.stringMatching(/^led_/),
        kind: 'charge',
        keyId: key.id,
        generationId,
        priceVersion: 'price_1',
        day: dayOf(bench.clock.now()),
      })
      await bench.restart()
      expect(await bench.store.ledger.chargeOf(generationId)).toEqual(charge)
    })

    test('is undefined where nothing was charged', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key)
      expect(await bench.store.ledger.chargeOf(claim.generationId)).toBeUndefined()
      await bench.settle(claim, null)
      expect(await bench.store.ledger.chargeOf(claim.generationId)).toBeUndefined()
      expect(await bench.store.ledger.chargeOf('gen-none')).toBeUndefined()
    })
  })

  describe('a list', () => {
    test('is newest first and cut to what is asked', async () => {
      const { key } = await bench.issue()
      const { key: other } = await bench.issue()
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      const start = bench.clock.now()
      bench.clock.advance(1_000)
      await bench.spend(key, '1')
      bench.clock.advance(1_000)
      await bench.topUp('2', 'acct_2')
      bench.clock.advance(1_000)
      await bench.spend(other, '3')
      const list = async (query: object) =>
        (await bench.store.ledger.list({ limit: 9, ...query })).map(({ amount }) => amount)
      expect(await list({})).toEqual([usd('-3'), usd('2'), usd('-1'), usd('100')])
      expect(await list({ limit: 2 })).toEqual([usd('-3'), usd('2')])
      expect(await list({ accountId: 'acct_2' })).toEqual([usd('2')])
      expect(await list({ keyId: key.id })).toEqual([usd('-1')])
      expect(await list({ kind: 'top_up' })).toEqual([usd('2'), usd('100')])
      expect(await list({ since: later(start, 2_000) })).toEqual([usd('-3'), usd('2')])
      expect(await list({ until: later(start, 2_000) })).toEqual([usd('-1'), usd('100')])
      expect(await list({ kind: 'refund' })).toEqual([])
    })

    test('finds a charge by when it was written, however long before its request began', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key)
      bench.clock.advance(DAY_MS)
      await bench.settle(claim, '1')
      const at = bench.clock.now()
      const list = async (query: object) =>
        (await bench.store.ledger.list({ limit: 9, kind: 'charge', ...query })).length
      expect(await list({ since: at, until: later(at, 1) })).toBe(1)
      expect(await list({ since: later(at, 1) })).toBe(0)
      expect(await list({ until: at })).toBe(0)
      expect(await list({ since: instant(0), until: instant(0) })).toBe(0)
    })

    test('finds what lies far back, and lists everything in front of it', async () => {
      const { key } = await bench.issue()
      await bench.store.ledger.credit(
        aTopUp(bench.clock.now(), usd('7'), { ref: 'first' }),
        anAct(),
      )
      await askMany(2_500, () => bench.spend(key, '0.000000001'))
      const { ledger } = bench.store
      const all = await ledger.list({ limit: 10_000 })
      expect(all).toHaveLength(2_502)
      expect(await ledger.list({ limit: 1_500 })).toEqual(all.slice(0, 1_500))
      const credits = all.filter(({ kind }) => kind === 'top_up')
      expect(await ledger.list({ kind: 'top_up', limit: 9 })).toEqual(credits)
      expect(await ledger.list({ ref: 'first', limit: 1 })).toMatchObject([{ amount: usd('7') }])
      expect(await ledger.list({ ref: 'second', limit: 1 })).toEqual([])
    })
  })
}
