/** What every engine promises about the owners of admissions: what a node held ends with its epoch, and nothing else does. */

import { expect, test } from 'vitest'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Owner } from '#domain/owner.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aClaim, anOwner, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function ownersContract(bench: Bench): void {
  const admit = async (key: ApiKey, owner: Owner, hold = '0.25'): Promise<Claim> => {
    const claim = { ...aClaim(key, bench.clock.now(), usd(hold)), owner, endUser: 'ann' }
    const { admitted } = await admitClaim(bench.store.admissions, claim)
    if (!admitted) throw new Error('it was not admitted')
    return claim
  }
  const expire = (...owners: readonly Owner[]) =>
    bench.store.admissions.expire(
      owners.map(({ epoch }) => epoch),
      bench.clock.now(),
    )
  const usage = ({ id }: ApiKey) => bench.store.admissions.usage(id, bench.clock.now())

  test('what an epoch held is released when it has ended, and what others hold is not', async () => {
    const { key } = await bench.issue({ rpm: 9, dailySpend: usd('1'), endUserDailySpend: usd('1') })
    const [here, gone] = [anOwner(), anOwner()]
    const mine = await admit(key, here)
    const theirs = [await admit(key, gone, '0.3'), await admit(key, gone, '0.4')]
    bench.clock.advance(2_000)
    await expire(gone)
    expect(await usage(key)).toMatchObject({
      reserved: usd('0.25'),
      requestsInProgress: 1,
      spendDay: 0n,
      // A request that was broken off keeps its slot.
      requestsMinute: 3,
    })
    for (const claim of theirs) {
      expect(await bench.settle(claim, '0.3')).toBe(false)
      expect(await bench.store.activity.find(claim.generationId)).toMatchObject({
        endedBy: 'gateway',
        status: 500,
        code: 'internal_error',
        cost: 0n,
        endUser: 'ann',
        totalMs: 2_000,
      })
    }
    expect(await bench.settle(mine, '0.2')).toBe(true)
    expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('99.8'))
    expect(await usage(key)).toMatchObject({ reserved: 0n, requestsInProgress: 0 })
    expect(await bench.store.audit()).toMatchObject({ openHolds: 0, findings: [] })
    await admit(key, here, '0.8')
  })

  test('what is released counts on the day that admitted it', async () => {
    const { key } = await bench.issue({ dailySpend: usd('1') })
    const gone = anOwner()
    await admit(key, gone, '0.9')
    bench.clock.advance(DAY_MS)
    const after = await admit(key, anOwner(), '0.5')
    await expire(gone)
    expect(await usage(key)).toMatchObject({ reserved: usd('0.5'), spendDay: 0n })
    await bench.settle(after, '0.5')
    expect(await usage(key)).toMatchObject({ reserved: 0n, spendDay: usd('0.5') })
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('an epoch that has ended stays so, and neither it nor one without holds ends twice', async () => {
    const { key } = await bench.issue()
    const [here, gone] = [anOwner(), anOwner()]
    const { renew } = bench.store.admissions
    const beat = () => Promise.all([here, gone].map((owner) => renew(owner, bench.clock.now())))
    const claim = await admit(key, gone)
    expect(await beat()).toEqual([true, true])
    await expire(gone)
    expect(await beat()).toEqual([true, false])
    const line = await bench.store.activity.find(claim.generationId)
    bench.clock.advance(1_000)
    await expire(gone, anOwner())
    expect(await bench.store.activity.find(claim.generationId)).toEqual(line)
    expect(await bench.store.activity.list({ limit: 9 })).toHaveLength(1)
  })

  test('an admission that was settled is none that expires', async () => {
    const { key } = await bench.issue()
    const owner = anOwner()
    const claim = await admit(key, owner)
    await bench.settle(claim, '0.25')
    await expire(owner)
    expect(await bench.store.activity.find(claim.generationId)).toMatchObject({ status: 200 })
    expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('99.75'))
    expect((await bench.store.audit()).findings).toEqual([])
  })

  if (bench.survives) {
    test('a store that is opened again releases what was held before, whoever held it', async () => {
      const { key } = await bench.issue({ endUserDailySpend: usd('1') })
      const claims = [await admit(key, anOwner()), await admit(key, bench.store.owner)]
      await bench.restart()
      for (const claim of claims) expect(await bench.settle(claim, '0.2')).toBe(false)
      expect(await usage(key)).toMatchObject({ reserved: 0n, requestsInProgress: 0 })
      expect(await bench.store.audit()).toMatchObject({ openHolds: 0, findings: [] })
    })
  }
}
