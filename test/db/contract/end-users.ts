/** What every engine promises about the end users of a key: each is capped alone, and a crowd is bounded. */

import { expect, test } from 'vitest'
import { MAX_END_USERS_A_DAY } from '#domain/end-user.ts'
import type { ApiKey } from '#domain/key.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAct, anActivity, usd } from '#test/support/nouns.ts'
import { askMany, type Bench } from './bench.ts'

export function endUsersContract(bench: Bench): void {
  /** Admits, and settles what was admitted at once. @returns the refusal's limit, or null */
  async function ask(key: ApiKey, endUser: string | null, amount = '0.01'): Promise<string | null> {
    const claim = { ...aClaim(key, bench.clock.now(), usd(amount)), endUser }
    const { admissions } = bench.store
    const verdict = await admitClaim(admissions, claim)
    if (!verdict.admitted) return verdict.refusal.limit
    const charge = aCharge(usd(amount))
    const activity = anActivity(claim, { endUser, cost: charge.amount })
    await admissions.settle(claim.generationId, {
      answer: null,
      at: bench.clock.now(),
      charge,
      activity,
    })
    return null
  }

  test('the day ceiling of one is not the other’s, and lasts until midnight UTC', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('0.02') })
    expect(await ask(key, 'ann', '0.05')).toBeNull()
    expect(await ask(key, 'ann')).toBe('end_user_daily_usd')
    expect(await ask(key, 'bob')).toBeNull()
    expect(await ask(key, null, '1')).toBeNull()
    bench.clock.set(Date.parse('2026-08-23T00:00:00Z') as never)
    expect(await ask(key, 'ann')).toBeNull()
  })

  test('a slot of one frees a minute after its own request', async () => {
    const { key } = await bench.issue({ endUserRpm: 2 })
    expect(await ask(key, 'ann')).toBeNull()
    bench.clock.advance(20_000)
    expect(await ask(key, 'ann')).toBeNull()
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
    expect(await ask(key, 'bob')).toBeNull()
    bench.clock.advance(40_000)
    expect(await ask(key, 'ann')).toBeNull()
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
  })

  test('T14: two hundred at once for one end user: what fits the ceiling, and one', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('1') })
    const claims = Array.from({ length: 200 }, () => ({
      ...aClaim(key, bench.clock.now(), usd('0.3')),
      endUser: 'ann',
    }))
    const verdicts = await Promise.all(
      claims.map((claim) => admitClaim(bench.store.admissions, claim)),
    )
    expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(3)
  })

  test('caps and what was used survive a restart and a change of limits', async () => {
    const { key } = await bench.issue({ endUserRpm: 3, endUserDailySpend: usd('0.02') })
    await ask(key, 'ann')
    await ask(key, 'ann')
    await bench.restart()
    expect(await ask(key, 'ann')).toBe('end_user_daily_usd')
    const at = bench.clock.now()
    await bench.store.keys.amend(
      key.id,
      { limits: { endUserDailySpend: null, endUserRpm: 2 } },
      anAct(at),
    )
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
    await bench.store.keys.amend(key.id, { limits: { endUserRpm: 3 } }, anAct(at))
    expect(await ask(key, 'ann')).toBeNull()
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
  })

  test('a rate that is set later counts the requests before it', async () => {
    const { key } = await bench.issue()
    const amend = (endUserRpm: number | null) =>
      bench.store.keys.amend(key.id, { limits: { endUserRpm } }, anAct(bench.clock.now()))
    for (const name of ['ann', 'bob', 'ann']) await ask(key, name)
    await amend(2)
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
    expect(await ask(key, 'bob')).toBeNull()
    expect(await ask(key, 'bob')).toBe('end_user_rpm')
    await amend(3)
    expect(await ask(key, 'ann')).toBeNull()
    await amend(null)
    expect(await ask(key, 'ann')).toBeNull()
    await amend(4)
    expect(await ask(key, 'ann')).toBe('end_user_rpm')
    expect(await ask(key, 'eve')).toBeNull()
    bench.clock.advance(60_000)
    expect(await ask(key, 'ann')).toBeNull()
  })

  test('end users beyond the maximum share one limit, and are one sum to the audit', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('0.01') })
    await askMany(MAX_END_USERS_A_DAY, (nth) => ask(key, `user ${nth}`, '0.001'))
    expect(await ask(key, 'one more', '0.005')).toBeNull()
    expect(await ask(key, 'and another', '0.005')).toBeNull()
    expect(await ask(key, 'a third', '0.01')).toBe('end_user_daily_usd')
    const [last] = await bench.store.ledger.list({ limit: 1 })
    expect(last?.endUser).toBe('')
    expect(await ask(key, 'user 7', '0.01')).toBeNull()
    expect(await ask(key, 'user 7', '0.01')).toBe('end_user_daily_usd')
    expect(await bench.store.audit()).toMatchObject({
      entries: MAX_END_USERS_A_DAY + 4,
      endUserDays: MAX_END_USERS_A_DAY + 1,
      findings: [],
    })
  })

  test('end users that shared a limit are counted separately after midnight, from the log', async () => {
    const { key } = await bench.issue({ endUserRpm: 1 })
    const turnTo = (time: string) => bench.clock.set(Date.parse(time) as never)
    turnTo('2026-08-22T23:58:50Z')
    await askMany(MAX_END_USERS_A_DAY, (nth) => ask(key, `user ${nth}`, '0.001'))
    turnTo('2026-08-22T23:59:50Z')
    expect(await ask(key, 'late')).toBeNull()
    expect(await ask(key, 'later')).toBe('end_user_rpm')
    turnTo('2026-08-23T00:00:05Z')
    expect(await ask(key, 'late')).toBe('end_user_rpm')
    expect(await ask(key, 'later')).toBeNull()
    expect(await ask(key, 'later')).toBe('end_user_rpm')
    turnTo('2026-08-23T00:00:50Z')
    expect(await ask(key, 'late')).toBeNull()
  })

  test('one that is always refused is not counted among them', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('0') })
    await askMany(MAX_END_USERS_A_DAY + 1, (nth) => ask(key, `user ${nth}`))
    await bench.store.keys.amend(
      key.id,
      { limits: { endUserDailySpend: usd('0.01') } },
      anAct(bench.clock.now()),
    )
    expect(await ask(key, 'ann')).toBeNull()
    expect(await ask(key, 'bob')).toBeNull()
  })
}
