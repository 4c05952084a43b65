/** What every engine that outlives its process promises: nothing acknowledged is lost, nothing held is leaked. */

import { expect, test } from 'vitest'
import type { Claim } from '#domain/admission.ts'
import { MINUTE_MS } from '#domain/clock.ts'
import { onlyCredential } from '#domain/provider.ts'
import { priceOf, rateOf } from '#test/support/catalogue.ts'
import { aCard, aClaim, anAct, aProvider, rate, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function restartContract(bench: Bench): void {
  test('windows, spend and balance are as they were', async () => {
    const { key } = await bench.issue({ rpm: 3, rpd: 3, dailySpend: usd('1') })
    for (let n = 0; n < 3; n++) {
      await bench.spend(key, '0.1')
      bench.clock.advance(1_000)
    }
    const { admissions } = bench.store
    const before = [
      await admissions.usage(key.id, bench.clock.now()),
      await admissions.quota([key.id], bench.clock.now()),
    ]
    await bench.restart()
    const after = [
      await bench.store.admissions.usage(key.id, bench.clock.now()),
      await bench.store.admissions.quota([key.id], bench.clock.now()),
    ]
    expect(after).toEqual(before)
    expect((await bench.admit(key)).refusal).toMatchObject({ limit: 'rpm_limit', used: 3 })
    bench.clock.advance(MINUTE_MS - 3_000)
    expect((await bench.admit(key)).refusal).toMatchObject({ limit: 'rpd_limit', used: 3 })
    expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('99.7'))
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('a spent ceiling stays spent', async () => {
    const { key } = await bench.issue({ dailySpend: usd('1'), monthlySpend: usd('1') })
    await bench.spend(key, '1')
    await bench.restart()
    expect((await bench.admit(key)).refusal?.code).toBe('daily_spend_limit_exceeded')
    bench.clock.advance(24 * 60 * MINUTE_MS)
    expect((await bench.admit(key)).refusal?.code).toBe('monthly_spend_limit_exceeded')
  })

  test('an open hold is voided, its slot stays taken, and the log says who broke it off', async () => {
    const { key } = await bench.issue({ rpm: 1, concurrency: 1, dailySpend: usd('1') })
    const made = { ...aClaim(key, bench.clock.now(), usd('0.9')), owner: bench.store.owner }
    const { version: catalogue } = bench.store.catalogue.current()
    const claim: Claim = { ...made, catalogue, surface: 'messages', session: 'talk' }
    expect(await bench.store.admissions.admit(claim)).toMatchObject({ admitted: true })
    const { epoch } = bench.store.owner
    bench.clock.advance(2_000)
    await bench.restart()
    const usage = await bench.store.admissions.usage(key.id, bench.clock.now())
    expect(usage).toMatchObject({ reserved: 0n, requestsInProgress: 0, spendDay: 0n })
    expect(usage.requestsMinute).toBe(1)
    expect((await bench.admit(key)).refusal?.limit).toBe('rpm_limit')
    expect(await bench.settle(claim, '0.9')).toBe(false)
    expect(bench.store.owner.epoch).not.toBe(epoch)
    expect(await bench.store.activity.find(claim.generationId)).toMatchObject({
      endedBy: 'gateway',
      status: 500,
      code: 'internal_error',
      cost: 0n,
      model: claim.model,
      surface: 'messages',
      session: 'talk',
      startedAt: claim.at,
      totalMs: 2_000,
    })
    expect((await bench.store.health({ checkIntegrity: true })).openHolds).toBe(0)
    expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('100'))
  })

  test('a settled hold stays settled', async () => {
    const { key } = await bench.issue()
    const claim = await bench.spend(key, '0.5')
    const line = await bench.store.activity.find(claim.generationId)
    await bench.restart()
    expect(await bench.settle(claim, '0.5')).toBe(false)
    expect(await bench.store.activity.find(claim.generationId)).toEqual(line)
    expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('99.5'))
  })

  test('keys, revocations, limits, the catalogue and rates are there', async () => {
    const { key, secret } = await bench.issue({ rpm: 1 })
    const { key: gone, secret: goneSecret } = await bench.issue()
    await bench.store.providers.add(
      aProvider({ hasCredential: true }),
      onlyCredential('sk-kept'),
      [],
      anAct(),
    )
    await bench.store.models.add(aCard(), anAct())
    await bench.store.rates.set(rate('92.5'), bench.clock.now(), anAct(bench.clock.now()))
    await bench.store.keys.amend(key.id, { limits: { rpm: 9 } }, anAct(bench.clock.now()))
    await bench.store.keys.revoke(gone.id, anAct(bench.clock.now()))
    await bench.restart()
    const { keys, providers } = bench.store
    const now = bench.clock.now()
    expect((await keys.findBySecret(secret, now))?.limits.rpm).toBe(9)
    expect((await keys.findBySecret(goneSecret, now))?.revokedAt).toBe(now)
    expect(priceOf(bench.store, 'acme/small', bench.clock.now())?.prices.prompt).toBeGreaterThan(0n)
    expect(await providers.credential('acme')).toBe('sk-kept')
    expect(rateOf(bench.store, now).rubPerUsd).toBe(rate('92.5'))
  })

  test('the store is sound', async () => {
    const { key } = await bench.issue()
    await bench.spend(key, '0.5')
    await bench.restart()
    expect(await bench.store.health({ checkIntegrity: true })).toMatchObject({
      writable: true,
      openHolds: 0,
      integrityFindings: [],
    })
  })
}
