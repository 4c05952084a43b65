// What windows are counted from is kept for two days: no verdict changes by it, whatever is done to the clock.
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '#domain/clock.ts'
import { createSteadyClock } from '#domain/steady-clock.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { issue, openTables } from '#test/support/nodes.ts'
import { aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

/** The same numbers in every run. */
function drawing(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('a trimmed window', () => {
    const cluster = clusterForAll(bin)

    async function open(address: Address, clock: Clock) {
      const store = await openPostgres({ address, clock, node: 'a' })
      onTestFinished(() => store.close())
      const key = await issue(store, { rpm: 4, rpd: 12, endUserRpm: 3 })
      const ask = async (endUser: string | null) => {
        const claim = { ...aClaim(key, clock.now(), usd('0.01')), endUser, owner: store.owner }
        const verdict = await store.admissions.admit(claim)
        if (verdict === 'stale' || 'repetition' in verdict) throw new Error('it was not judged')
        if (verdict.admitted) {
          const activity = anActivity(claim)
          const settlement = { at: clock.now(), charge: null, activity, answer: null }
          await store.admissions.settle(claim.generationId, settlement)
        }
        return { refusal: verdict.admitted ? null : verdict.refusal, quota: verdict.quota }
      }
      const tables = openTables(address)
      const rows = async () =>
        (await tables.get<{ n: number }>('SELECT count(*) AS n FROM slots'))?.n ?? 0
      return { ask, rows, trim: store.admissions.trim }
    }

    test('is as one that is kept whole, with a clock that is set back, and right again', async () => {
      const clock = handClock('2026-08-22T12:00:00Z')
      const steady = createSteadyClock(clock, null)
      const whole = await cluster.createEmpty()
      await migrate(whole)
      const [trimmed, kept] = [await open(await cluster.create(), clock), await open(whole, clock)]
      const draw = drawing(7)
      let behindMs = 0
      let admitted = 0
      for (let n = 0; n < (FULL ? 600 : 120); n++) {
        clock.advance([0, 1_000, MINUTE_MS / 3, 2 * HOUR_MS, 5 * HOUR_MS][draw(5)] ?? 0)
        if (draw(6) === 0) {
          const next = [20 * HOUR_MS, HOUR_MS, 0, 0][draw(4)] ?? 0
          clock.step(behindMs - next)
          behindMs = next
        }
        await trimmed.trim(steady.now())
        const user = draw(3) === 0 ? 'ann' : null
        const [one, other] = [await trimmed.ask(user), await kept.ask(user)]
        expect(one).toEqual(other)
        if (one.refusal === null) admitted++
      }
      expect(admitted).toBeGreaterThan(20)
      expect(await kept.rows()).toBe(admitted)
      expect(await trimmed.rows()).toBeLessThan(admitted)
      clock.advance(4 * DAY_MS)
      await trimmed.trim(steady.now())
      expect(await trimmed.rows()).toBe(0)
    })

    test('is trimmed as before once a clock that ran far ahead is right again', async () => {
      const clock = handClock('2026-08-22T12:00:00Z')
      const steady = createSteadyClock(clock, null)
      const { ask, rows, trim } = await open(await cluster.create(), clock)
      clock.step(400 * DAY_MS)
      await ask(null)
      clock.step(-400 * DAY_MS)
      for (let n = 0; n < 4; n++) {
        clock.advance(DAY_MS)
        await trim(steady.now())
        expect(await ask(null)).toMatchObject({ refusal: null })
      }
      // What was taken ahead is not old by the clock; of the others only the first is older than two days.
      expect(await rows()).toBe(1 + 3)
    })

    test('is whole while a clock that jumps ahead is not believed', async () => {
      const clock = handClock('2026-08-22T12:00:00Z')
      const steady = createSteadyClock(clock, null)
      const { ask, trim } = await open(await cluster.create(), clock)
      for (let n = 0; n < 12; n++) {
        expect(await ask(null)).toMatchObject({ refusal: null })
        clock.advance(MINUTE_MS)
      }
      clock.step(60 * HOUR_MS)
      await trim(steady.now())
      clock.advance(HOUR_MS)
      await trim(steady.now())
      clock.step(-60 * HOUR_MS)
      expect(await ask(null)).toMatchObject({ refusal: { limit: 'rpd_limit', used: 12 } })
    })
  })
}
