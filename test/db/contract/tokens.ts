/** What every engine promises about tokens per minute, of a key and of an account: judged like a ceiling, held, and settled. */

import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { fixedCost } from '#domain/offer-cost.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aCharge, aClaim, anAccount, anAct, anActivity, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function tokensContract(bench: Bench): void {
  const ask = async (key: ApiKey, tokens: number) => {
    const catalogue = bench.store.catalogue.current().version
    const offers = [fixedCost(usd('0.001'), tokens)]
    const claim = { ...aClaim(key, bench.clock.now()), catalogue, offers }
    const verdict = await admitClaim(bench.store.admissions, claim)
    return { claim, refusal: verdict.admitted ? null : verdict.refusal }
  }
  type Asked = Awaited<ReturnType<typeof ask>>
  const settle = ({ claim }: Asked, used: number) => {
    const usage = { ...NO_USAGE, inputTokens: used - 1, imageOutputTokens: 1 }
    return bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: bench.clock.now(),
      charge: aCharge(usd('0.001')),
      activity: anActivity(claim, { usage }),
    })
  }

  describe.each(['key', 'account'] as const)('of the %s', (whose) => {
    /** Two keys under one limit: the same key twice where it is a key's. */
    const limited = async (tpm: number): Promise<readonly [ApiKey, ApiKey]> => {
      if (whose === 'key') {
        const { key } = await bench.issue({ tpm })
        return [key, key]
      }
      const account = anAccount({ id: 'acct_2', name: 'b', limits: { ...NO_LIMITS, tpm } })
      await bench.store.accounts.create(account, anAct())
      await bench.topUp('10', 'acct_2')
      const issue = async () => (await bench.issue({}, { accountId: 'acct_2' })).key
      return [await issue(), await issue()]
    }
    const of = whose === 'account' ? { of: 'account' } : {}

    test('a lone request may cross it; beside another it has to fit, and waits for its end', async () => {
      const [first, second] = await limited(1_000)
      const lone = await ask(first, 5_000)
      expect(lone.refusal).toBeNull()
      bench.clock.advance(10_000)
      const { refusal } = await ask(second, 1)
      expect(refusal).toEqual({
        code: 'rate_limit_exceeded',
        limit: 'tpm_limit',
        ...of,
        limitValue: 1_000,
        used: 5_000,
        tokens: { needed: 1, held: 5_000 },
        resetsAt: null,
        retryAfterSeconds: 1,
      })
      // What it really used is less.
      await settle(lone, 600)
      const beside = await ask(second, 100)
      expect(beside.refusal).toBeNull()
      expect((await ask(first, 301)).refusal).toMatchObject({ used: 700, ...of })
      expect((await ask(first, 300)).refusal).toBeNull()
      await settle(beside, 400)
      // What has been used is at the limit, whatever is held: it frees as the first leaves.
      expect((await ask(second, 1)).refusal).toMatchObject({
        used: 1_300,
        tokens: { needed: 1, held: 300 },
        resetsAt: bench.clock.now() + 50_000,
        retryAfterSeconds: 50,
      })
    })

    test('what is used of it is shown: what has ended, and what requests in progress hold', async () => {
      const [first, second] = await limited(1_000)
      const shown = async () => {
        const { admissions } = bench.store
        const at = bench.clock.now()
        const [reading] =
          whose === 'key'
            ? await admissions.quota([first.id], at)
            : await admissions.accountUse(['acct_2'], at)
        return reading?.tokens
      }
      const used = async () =>
        (await bench.store.admissions.usage(first.id, bench.clock.now())).tokensMinute
      expect(await shown()).toEqual({ limit: 1_000, remaining: 1_000, resetSeconds: 0 })
      await settle(await ask(first, 10), 400)
      bench.clock.advance(20_000)
      const running = await ask(second, 500)
      expect(await shown()).toEqual({ limit: 1_000, remaining: 100, resetSeconds: 40 })
      // An account's key that has no limit of its own is counted too.
      expect(await used()).toBe(whose === 'key' ? 900 : 400)
      await bench.restart()
      if (bench.survives) await bench.settle(running.claim, null)
      else await settle(running, 1)
      expect(await shown()).toMatchObject({ remaining: bench.survives ? 600 : 599 })
      bench.clock.advance(40_000)
      expect(await shown()).toMatchObject({ remaining: bench.survives ? 1_000 : 999 })
      expect(await used()).toBe(whose === 'key' && !bench.survives ? 1 : 0)
    })

    test('what is used up frees with the minute of its admission, after a restart too', async () => {
      const [first, second] = await limited(1_000)
      await settle(await ask(first, 10), 400)
      bench.clock.advance(20_000)
      await settle(await ask(second, 10), 600)
      await bench.restart()
      const refused = async () => (await ask(first, 1)).refusal
      expect(await refused()).toMatchObject({ used: 1_000, retryAfterSeconds: 40, ...of })
      bench.clock.advance(39_999)
      expect(await refused()).toMatchObject({ retryAfterSeconds: 1 })
      bench.clock.advance(1)
      const next = await ask(second, 9_999)
      expect(next.refusal).toBeNull()
      // It never was charged, and used nothing.
      await bench.settle(next.claim, null)
    })

    test('two hundred at once at the last tokens: one is admitted, and crosses by itself alone', async () => {
      const keys = await limited(1_000)
      await settle(await ask(keys[0], 10), 999)
      const asked = await Promise.all(
        Array.from({ length: 200 }, (_, n) => ask(keys[n % 2] as ApiKey, 50)),
      )
      expect(asked.filter(({ refusal }) => refusal === null)).toHaveLength(1)
      for (const one of asked) if (one.refusal === null) await settle(one, 50)
      expect((await ask(keys[0], 1)).refusal).toMatchObject({ used: 1_049 })
    })

    test('set while requests run, it counts them, and what has ended; raised or lifted, it forgets none', async () => {
      const [first, second] = await limited(1_000_000)
      const change = (tpm: number | null) =>
        whose === 'key'
          ? bench.store.keys.amend(first.id, { limits: { tpm } }, anAct(bench.clock.now()))
          : bench.store.accounts.amend('acct_2', { limits: { tpm } }, anAct(bench.clock.now()))
      await change(null)
      await settle(await ask(first, 10), 300)
      const running = await ask(second, 500)
      await change(1_000)
      expect((await ask(first, 201)).refusal).toMatchObject({ used: 800, ...of })
      await settle(running, 700)
      expect((await ask(first, 1)).refusal).toMatchObject({ used: 1_000 })
      await change(1_001)
      expect((await ask(first, 9_000)).refusal).toBeNull()
    })

    test('a clock that was set back frees nothing early', async () => {
      const [first, second] = await limited(1_000)
      await settle(await ask(first, 10), 700)
      const running = await ask(first, 300)
      bench.clock.set((bench.clock.now() - 3 * MINUTE_MS) as never)
      expect((await ask(second, 1)).refusal).toMatchObject({ used: 1_000, ...of })
      await settle(running, 300)
      bench.clock.set((bench.clock.now() + 3 * MINUTE_MS) as never)
      expect((await ask(second, 1)).refusal).toMatchObject({ used: 1_000, ...of })
    })
  })
}
