/** What every engine promises while its clock is wrong, and when it is right again: nothing opens twice. */

import { describe, expect, test } from 'vitest'
import type { Claim } from '#domain/admission.ts'
import { untilCurrent } from '#domain/catalogue.ts'
import { DAY_MS, HOUR_MS, type Instant, instant, later, MINUTE_MS } from '#domain/clock.ts'
import { MAX_END_USERS_A_DAY } from '#domain/end-user.ts'
import { newPriceVersionId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { admitClaim } from '#test/support/admit.ts'
import { priceOf, rateOf } from '#test/support/catalogue.ts'
import {
  aCard,
  aCharge,
  aClaim,
  anAct,
  anActivity,
  aProvider,
  aVersion,
  perM,
  rate,
  usd,
} from '#test/support/nouns.ts'
import { askMany, type Bench } from './bench.ts'

const at = (text: string): Instant => instant(Date.parse(text))

/** The true time, shortly after a month's end; two days behind it is the month before. */
const TRUE_TIME = '2026-09-01T00:30:00Z'

export function correctedClockContract(bench: Bench): void {
  const usageOf = ({ id }: ApiKey) => bench.store.admissions.usage(id, bench.clock.now())

  async function claimOf(key: ApiKey, endUser: string, amount: string) {
    const claim = { ...aClaim(key, bench.clock.now(), usd(amount)), endUser }
    const verdict = await admitClaim(bench.store.admissions, claim)
    return { claim, limit: verdict.admitted ? null : verdict.refusal.limit }
  }

  const settle = ({ claim }: Awaited<ReturnType<typeof claimOf>>, amount: string) => {
    const charge = aCharge(usd(amount))
    const activity = anActivity(claim, { endUser: claim.endUser, cost: charge.amount })
    return bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: bench.clock.now(),
      charge,
      activity,
    })
  }

  /** Admits and settles. @returns the refusal's limit, or null */
  async function ask(key: ApiKey, endUser = 'ann', amount = '1'): Promise<string | null> {
    const asked = await claimOf(key, endUser, amount)
    if (asked.limit === null) await settle(asked, amount)
    return asked.limit
  }

  test.each([
    ['in turns', true],
    ['one clock after the other', false],
  ])(
    'those asked before and after the clock was set, %s, do not keep each other from an answer',
    async (_, inTurns) => {
      const { key } = await bench.issue({ rpm: 50, rpd: 5 })
      const before = bench.clock.now()
      bench.clock.step(-2 * HOUR_MS)
      const after = bench.clock.now()
      const { admissions, accounts } = bench.store
      const admitted: Claim[] = []
      const admit = async (at: Instant) => {
        const claim = aClaim(key, at, usd('0.5'))
        const verdict = await admissions.admit(claim)
        if (verdict !== 'stale' && verdict.admitted) admitted.push(claim)
        return verdict
      }
      const judge = (at: Instant) => admissions.judge(aClaim(key, at, usd('0.5')))
      const use = async (at: Instant) => ({
        admitted: true,
        ...(await admissions.usage(key.id, at)),
      })
      const verbs = [admit, judge, admit]
      const clocks = [before, after]
      const claims = inTurns
        ? verbs.flatMap((verb) => clocks.map((at) => [verb, at] as const))
        : clocks.flatMap((at) => verbs.map((verb) => [verb, at] as const))
      const asked = [...claims, [use, before] as const]
      const answers = asked.map(([verb, at]) => {
        let then = at
        // What cannot be judged by the one clock is asked again by the other, as a walk does.
        return untilCurrent(async () => {
          const answer = await verb(then).catch((thrown) => {
            expect(thrown).toMatchObject({ code: 'store_unavailable' })
            return 'stale' as const
          })
          then = after
          return answer
        })
      })
      for (const answer of await Promise.all(answers)) {
        expect(answer).toMatchObject({ admitted: true })
      }
      expect(admitted).toHaveLength(4)
      const held = { requestsInProgress: 4, reserved: usd('2'), spendDay: 0n, requestsDay: 4 }
      expect(await usageOf(key)).toMatchObject(held)
      for (const claim of admitted) await bench.settle(claim, '0.25')
      const spent = { requestsInProgress: 0, reserved: 0n, spendDay: usd('1'), requestsDay: 4 }
      expect(await usageOf(key)).toMatchObject(spent)
      expect((await accounts.find('acct_1'))?.balance).toBe(usd('99'))
      expect([await ask(key), await ask(key)]).toEqual([null, 'rpd_limit'])
      await noDrift()
    },
  )

  const noDrift = async () => expect((await bench.store.audit()).findings).toEqual([])

  const ends = [
    ['with a restart', () => bench.restart()],
    ['without a restart', async () => {}],
  ] as const

  describe.each(ends)('a clock two days behind, %s, and right again', (_, restart) => {
    const limits = [
      ['daily_spend_limit_usd', { dailySpend: usd('1') }],
      ['monthly_spend_limit_usd', { monthlySpend: usd('1') }],
      ['end_user_daily_usd', { endUserDailySpend: usd('1') }],
      ['rpd_limit', { rpd: 1 }],
      ['rpm_limit', { rpm: 1 }],
      ['end_user_rpm', { endUserRpm: 1 }],
    ] as const

    test.each(limits)('T44: %s is not available a second time', async (name, limit) => {
      bench.clock.set(at(TRUE_TIME))
      const { key } = await bench.issue(limit)
      expect([await ask(key), await ask(key)]).toEqual([null, name])
      await noDrift()
      bench.clock.advance(-2 * DAY_MS)
      await restart()
      // The wrong day has its own sums; whatever it admits, it admits once.
      await usageOf(key)
      await ask(key)
      expect(await ask(key)).toBe(name)
      await noDrift()
      bench.clock.advance(2 * DAY_MS + 1_000)
      expect(await ask(key)).toBe(name)
      await noDrift()
      await restart()
      expect(await ask(key)).toBe(name)
    })

    test('a key that was only looked at meanwhile is as spent as before', async () => {
      bench.clock.set(at(TRUE_TIME))
      const { key } = await bench.issue({ rpd: 9 })
      await ask(key)
      bench.clock.advance(-2 * DAY_MS)
      await restart()
      await usageOf(key)
      bench.clock.advance(2 * DAY_MS + 1_000)
      expect(await usageOf(key)).toMatchObject({
        spendDay: usd('1'),
        spendMonth: usd('1'),
        requestsDay: 1,
      })
    })
  })

  describe.each(ends)(
    'a clock that was ahead for a moment, %s, and is right again',
    (_, restart) => {
      const limits = [
        ['rpd_limit', { rpd: 4 }],
        ['rpm_limit', { rpm: 4 }],
        ['end_user_rpm', { endUserRpm: 4 }],
      ] as const
      const jumps = [2 * MINUTE_MS, 3 * HOUR_MS, 2 * DAY_MS]
      const cases = limits.flatMap(([name, limit]) => jumps.map((ms) => [name, ms, limit] as const))

      test.each(cases)(
        'T50: %s is not available a second time after %i ms',
        async (name, ms, limit) => {
          const { key } = await bench.issue(limit)
          for (let n = 0; n < 3; n++) expect(await ask(key)).toBeNull()
          bench.clock.step(ms)
          await restart()
          await usageOf(key)
          if (name === 'rpd_limit') expect(await ask(key, 'bob')).toBeNull()
          bench.clock.step(1_000 - ms)
          await restart()
          if (name !== 'rpd_limit') expect(await ask(key)).toBeNull()
          // After a restart nothing tells how long ago a request was made that lies more than a window ahead.
          else if (ms > DAY_MS && bench.forgetsSteps && restart === ends[0][1])
            expect(await ask(key)).toBeNull()
          expect(await ask(key)).toBe(name)
          await noDrift()
        },
      )
    },
  )

  test.each(['rpd', 'rpm', 'endUserRpm'] as const)(
    'what %s admitted while the clock was ahead, or behind, counts when it is right again',
    async (limit) => {
      for (const ms of [2 * DAY_MS, -2 * DAY_MS]) {
        const { key } = await bench.issue({ [limit]: 4 })
        for (let n = 0; n < 2; n++) expect(await ask(key)).toBeNull()
        bench.clock.step(ms)
        for (let n = 0; n < 2; n++) expect(await ask(key)).toBeNull()
        bench.clock.step(1_000 - ms)
        expect(await ask(key)).not.toBeNull()
        bench.clock.advance(limit === 'rpd' ? DAY_MS : MINUTE_MS)
        expect(await ask(key)).toBeNull()
      }
    },
  )

  describe('what an operator sets', () => {
    const prompt = async () => priceOf(bench.store, 'acme/small', bench.clock.now())?.prices.prompt
    const priceAt = (dollars: string, from = bench.clock.now()) => ({
      ...aVersion({ prompt: perM(dollars) }, from),
      id: newPriceVersionId(bench.clock.now()),
    })

    test('while the clock is behind: the price serves at once, and when it is right again', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      await models.add(aCard({ price: priceAt('1') }), anAct())
      await models.price('acme/small', priceAt('2'), anAct(bench.clock.now()))
      const ahead = priceAt('9', later(bench.clock.now(), 5 * DAY_MS))
      await models.price('acme/small', ahead, anAct(bench.clock.now()))
      bench.clock.step(-2 * DAY_MS)
      await models.price('acme/small', priceAt('3'), anAct(bench.clock.now()))
      expect(await prompt()).toBe(perM('3'))
      bench.clock.step(2 * DAY_MS)
      expect(await prompt()).toBe(perM('3'))
      await bench.restart()
      expect(await prompt()).toBe(perM('3'))
      bench.clock.advance(5 * DAY_MS)
      expect(await prompt()).toBe(perM('9'))
    })

    test('while the clock is behind: the rate serves at once, and when it is right again', async () => {
      const now = () => bench.clock.now()
      const set = (rub: string, from = now()) =>
        bench.store.rates.set(rate(rub), from, anAct(now()))
      const current = async () => rateOf(bench.store, now()).rubPerUsd
      await set('80')
      await set('99', later(now(), 5 * DAY_MS))
      bench.clock.step(-2 * DAY_MS)
      await set('90')
      expect(await current()).toBe(rate('90'))
      bench.clock.step(2 * DAY_MS)
      expect(await current()).toBe(rate('90'))
      await bench.restart()
      expect(await current()).toBe(rate('90'))
      bench.clock.advance(5 * DAY_MS)
      expect(await current()).toBe(rate('99'))
    })
  })

  test('requests in progress hold of the day that admitted them, wherever the clock goes', async () => {
    const { key } = await bench.issue({ dailySpend: usd('1'), monthlySpend: usd('1') })
    const refusal = async (hold: string) => (await bench.admit(key, hold)).refusal?.code ?? null
    const { claim } = await bench.admit(key, '0.8')
    bench.clock.advance(-40 * DAY_MS)
    const { claim: other } = await bench.admit(key, '0.7')
    expect(await refusal('0.4')).toBe('spend_reserved')
    bench.clock.advance(40 * DAY_MS)
    expect(await refusal('0.3')).toBe('spend_reserved')
    await bench.settle(claim, '1')
    expect(await refusal('0.01')).toBe('daily_spend_limit_exceeded')
    await noDrift()
    bench.clock.advance(-40 * DAY_MS)
    expect(await refusal('0.4')).toBe('spend_reserved')
    await bench.settle(other, '1')
    expect(await refusal('0.01')).toBe('daily_spend_limit_exceeded')
    await noDrift()
  })

  test('an end user’s requests in progress too', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('1') })
    const first = await claimOf(key, 'ann', '0.8')
    bench.clock.advance(-2 * DAY_MS)
    const second = await claimOf(key, 'ann', '0.7')
    expect([first.limit, second.limit]).toEqual([null, null])
    expect((await claimOf(key, 'ann', '0.4')).limit).toBe('end_user_daily_usd')
    bench.clock.advance(2 * DAY_MS)
    expect((await claimOf(key, 'ann', '0.3')).limit).toBe('end_user_daily_usd')
    await settle(first, '1')
    await settle(second, '1')
    expect((await claimOf(key, 'ann', '0.01')).limit).toBe('end_user_daily_usd')
    expect((await claimOf(key, 'bob', '0.01')).limit).toBeNull()
    bench.clock.advance(-2 * DAY_MS)
    expect((await claimOf(key, 'ann', '0.01')).limit).toBe('end_user_daily_usd')
    await noDrift()
  })

  test('end users that share a limit on one day have their own on another, and share it again', async () => {
    const { key } = await bench.issue({ endUserDailySpend: usd('0.01') })
    await askMany(MAX_END_USERS_A_DAY, (nth) => ask(key, `user ${nth}`, '0.001'))
    expect(await ask(key, 'one more', '0.01')).toBeNull()
    bench.clock.advance(-2 * DAY_MS)
    expect(await ask(key, 'one more', '0.01')).toBeNull()
    const running = await claimOf(key, 'another', '0.01')
    expect(running.limit).toBeNull()
    bench.clock.advance(2 * DAY_MS)
    expect(await ask(key, 'one more', '0.01')).toBe('end_user_daily_usd')
    expect(await ask(key, 'another', '0.01')).toBe('end_user_daily_usd')
    await settle(running, '0.01')
    expect(await ask(key, 'another', '0.01')).toBe('end_user_daily_usd')
    await noDrift()
  })

  test('a clock that was ahead for a moment: the true day goes on where it was', async () => {
    bench.clock.set(at('2026-08-31T12:00:00Z'))
    const { key } = await bench.issue({ dailySpend: usd('1'), monthlySpend: usd('1') })
    expect([await ask(key), await ask(key)]).toEqual([null, 'daily_spend_limit_usd'])
    bench.clock.advance(2 * DAY_MS)
    expect([await ask(key), await ask(key)]).toEqual([null, 'daily_spend_limit_usd'])
    bench.clock.advance(-2 * DAY_MS + MINUTE_MS)
    expect(await ask(key)).toBe('daily_spend_limit_usd')
    await noDrift()
  })

  test('a window ages while nobody asks, though the clock stays behind', async () => {
    const { key } = await bench.issue({ rpm: 1 })
    expect(await ask(key)).toBeNull()
    bench.clock.step(-20 * MINUTE_MS)
    expect(await ask(key)).toBe('rpm_limit')
    // Nearer to the time before the step than to that of the step.
    bench.clock.advance(11 * MINUTE_MS)
    const limit = await ask(key)
    bench.clock.advance(MINUTE_MS)
    expect([limit, await ask(key)]).toEqual([expect.toBeOneOf([null, 'rpm_limit']), null])
  })
}
