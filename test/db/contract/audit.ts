/** What every engine promises about the audit: what is kept is what the ledger adds up to, whatever is going on meanwhile. */

import { expect, test } from 'vitest'
import { DAY_MS, dayOf, dayStart, type Instant } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
import { askMany, type Bench } from './bench.ts'

export function auditContract(bench: Bench): void {
  /** One request of an end user, admitted and charged now. */
  async function serve(key: ApiKey, endUser: string | null, amount = '0.01'): Promise<void> {
    const claim = { ...aClaim(key, bench.clock.now(), usd(amount)), endUser }
    const { admitted } = await admitClaim(bench.store.admissions, claim)
    if (!admitted) throw new Error('it was not admitted')
    const charge = aCharge(usd(amount))
    const activity = anActivity(claim, { endUser, cost: charge.amount })
    await bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: bench.clock.now(),
      charge,
      activity,
    })
  }

  test('every balance is the sum of its entries, and every day that of its charges', async () => {
    const { key } = await bench.issue()
    await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    await bench.spend(key, '0.000000007')
    await serve(key, 'ann', '0.5')
    await serve(key, 'bob', '0')
    bench.clock.advance(DAY_MS)
    await serve(key, 'ann', '0.25')
    const sum = usd('99.249999993')
    expect(await bench.store.audit()).toEqual({
      entries: 5,
      balances: [
        { accountId: 'acct_1', accountName: 'default', balance: sum, ledgerSum: sum },
        { accountId: 'acct_2', accountName: 'other', balance: 0n, ledgerSum: 0n },
      ],
      keyDays: 2,
      endUserDays: 3,
      openHolds: 0,
      findings: [],
      found: 0,
      beyondHold: 0,
      latestBeyondHold: [],
    })
  })

  test('nothing at all adds up to nothing', async () => {
    expect(await bench.store.audit()).toMatchObject({ entries: 1, keyDays: 0, findings: [] })
  })

  test('a charge belongs to the day that admitted it, however late it comes', async () => {
    const { key } = await bench.issue({ dailySpend: usd('1') })
    const midnight = dayStart(dayOf((bench.clock.now() + DAY_MS) as Instant))
    bench.clock.set((midnight - 1) as Instant)
    const before = await bench.admit(key, '0.5')
    bench.clock.set(midnight)
    const after = await bench.admit(key, '0.25')
    bench.clock.advance(60_000)
    await bench.settle(before.claim, '0.5')
    await bench.settle(after.claim, '0.25')
    expect(await bench.store.audit()).toMatchObject({ keyDays: 2, findings: [] })
    const days = (await bench.store.ledger.list({ kind: 'charge', limit: 9 })).map(
      ({ day, amount }) => [day, amount],
    )
    expect(days).toEqual([
      [dayOf(midnight), usd('-0.25')],
      [dayOf(midnight) - 1, usd('-0.5')],
    ])
  })

  test('a clock that steps back over midnight, and a month, confuses no sum', async () => {
    const { key } = await bench.issue({ monthlySpend: usd('9') })
    const noon = bench.clock.now()
    bench.clock.advance(30 * DAY_MS)
    await serve(key, 'ann')
    bench.clock.set(noon)
    await serve(key, 'ann')
    await bench.restart()
    await serve(key, 'ann')
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('requests in progress, left and voided leave no difference', async () => {
    const { key } = await bench.issue()
    const [left, running] = [await bench.admit(key, '0.5'), await bench.admit(key, '0.25')]
    await bench.settle(left.claim, null)
    expect(await bench.store.audit()).toMatchObject({ openHolds: 1, findings: [] })
    await bench.settle(running.claim, '0.2')
    await bench.restart()
    expect(await bench.store.audit()).toMatchObject({ openHolds: 0, findings: [] })
  })

  test('everything is read at one moment, while requests go on', async () => {
    const { key } = await bench.issue()
    await askMany(3_000, (nth) => serve(key, `user ${nth % 7}`, '0.000001'))
    let auditing = true
    const audits = (async () => {
      const found = [await bench.store.audit(), await bench.store.audit()]
      auditing = false
      return found
    })()
    let served = 0
    while (auditing) {
      await serve(key, 'ann', '0.000001')
      await bench.topUp('0.01')
      served++
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { findings } of await audits) expect(findings).toEqual([])
    expect(served).toBeGreaterThan(0)
    expect((await bench.store.audit()).findings).toEqual([])
  })
}
