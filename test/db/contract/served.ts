/** What every engine promises about what a provider served, for a comparison with its bill. */
import { expect, test } from 'vitest'
import type { ActivityEntry, FailedAttempt } from '#domain/activity.ts'
import { DAY_MS, dayOf, dayStart, later } from '#domain/clock.ts'
import { NO_MONEY } from '#domain/money.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCard, aCharge, aClaim, anAct, anActivity, aProvider, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const HOLD = usd('0.5')

const failed = (status: number | null): FailedAttempt => ({
  model: 'acme/small',
  provider: 'acme',
  outcome: 'failed',
  status,
  reason: '',
  ms: 1,
  operatorCost: NO_MONEY,
})

export function servedContract(bench: Bench): void {
  test('is added up by day, model and class; what nobody counted stands apart, by why', async () => {
    const { key } = await bench.issue()
    const card = aCard()
    await bench.store.providers.add(aProvider(), [], [card], anAct())
    const [version] = card.prices
    const usage = { ...NO_USAGE, inputTokens: 100, serverCalls: { web_search: 2 } }
    const serve = async (stated: Partial<ActivityEntry>, isCharged = true) => {
      const catalogue = bench.store.catalogue.current().version
      const claim = { ...aClaim(key, bench.clock.now(), NO_MONEY), catalogue }
      await admitClaim(bench.store.admissions, claim)
      const charge = { ...aCharge(usd('0.1')), priceVersion: version?.id ?? 'price_0' }
      await bench.store.admissions.settle(claim.generationId, {
        answer: null,
        at: bench.clock.now(),
        charge: isCharged ? charge : null,
        activity: anActivity(claim, {
          hold: HOLD,
          ...(isCharged && { usage, usageSource: 'provider', cost: usd('0.1') }),
          ...stated,
        }),
      })
      return claim.generationId
    }
    await serve({})
    // Another has answered; and what was refused with a status was not billed.
    await serve({ provider: 'other', failedAttempts: [failed(503)] })
    await serve({ totalMs: DAY_MS })
    const left = await serve({ usageSource: 'estimated', endedBy: 'client' })
    // Its last attempt is the one that was charged.
    const broken = await serve({
      usageSource: 'estimated',
      endedBy: 'upstream',
      failedAttempts: [failed(503), failed(null)],
    })
    const lost = await serve({ provider: 'other', failedAttempts: [failed(null)] })
    const killed = await serve({ provider: null, endedBy: 'gateway', status: 500 }, false)
    await serve({ provider: null, endedBy: 'client', status: 499 }, false)
    await serve({ provider: 'other' })
    const beyond = await serve({ hold: usd('0.05'), usageSource: 'estimated', endedBy: 'gateway' })
    await bench.restart()

    const start = dayStart(dayOf(bench.clock.now()))
    const [today, ...more] = await bench.store.activity.served({
      provider: 'acme',
      since: start,
      until: later(start, DAY_MS),
    })
    expect(more).toEqual([])
    const one = { requests: 1, units: 100 }
    expect(today?.cells.get('input_tokens')).toMatchObject({
      exact: one,
      edge: one,
      doubted: { hung_up: one, broke_off: one, beyond_hold: one },
      leastPrice: version?.prices.prompt,
    })
    expect(today?.cells.get('input_tokens')?.exact.amount).toBe(
      (version?.prices.prompt ?? 0n) * 100n,
    )
    expect(today?.cells.get('web_search')?.exact.units).toBe(2)
    const doubt = (id: string, most = HOLD) => ({ requests: 1, most, examples: [{ id, most }] })
    expect(today?.doubts).toEqual({
      hung_up: doubt(left),
      broke_off: doubt(broken),
      failed_attempt: doubt(lost),
      stopped: doubt(killed),
      beyond_hold: doubt(beyond, usd('0.2')),
    })
    expect(today?.toolDoubts).toEqual(today?.doubts)
    expect(today?.charged).toBe(usd('0.5'))
    const tomorrow = {
      provider: 'acme',
      since: later(start, DAY_MS),
      until: later(start, 2 * DAY_MS),
    }
    expect(await bench.store.activity.served(tomorrow)).toEqual([])
  })
}
