/** What every engine promises about the limits of an account: all its keys together, by the same rules as a key's own. */

import { describe, expect, test } from 'vitest'
import { DAY_MS, dayOf, HOUR_MS, type Instant, instant, MINUTE_MS } from '#domain/clock.ts'
import { type ApiKey, outputBoundOf } from '#domain/key.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aClaim, anAccount, anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const at = (text: string): Instant => instant(Date.parse(text))

export function accountLimitsContract(bench: Bench): void {
  const limit = (limits: Partial<Limits>, id: `acct_${string}` = 'acct_1') =>
    bench.store.accounts.amend(id, { limits }, anAct(bench.clock.now()))
  const twoKeys = async (): Promise<readonly [ApiKey, ApiKey]> => [
    (await bench.issue()).key,
    (await bench.issue()).key,
  ]

  test('none is set by default, and what is set is found, and kept', async () => {
    expect((await bench.store.accounts.find('acct_1'))?.limits).toEqual(NO_LIMITS)
    const limits = {
      ...NO_LIMITS,
      rpm: 7,
      concurrency: 3,
      monthlySpend: usd('9007199'),
      maxOutputTokens: 512,
      allowedModels: ['acme/*'],
    }
    expect(await limit(limits)).toMatchObject({
      before: { limits: NO_LIMITS },
      after: { limits },
    })
    await limit({ rpm: null })
    await bench.restart()
    expect((await bench.store.accounts.find('acct_1'))?.limits).toEqual({ ...limits, rpm: null })
    await expect(limit({}, 'acct_none')).rejects.toMatchObject({ code: 'account_not_found' })
  })

  test('a key knows those of its account, from the next request on', async () => {
    const { key, secret } = await bench.issue({ maxOutputTokens: 900 })
    const seen = async () => await bench.store.keys.findBySecret(secret, bench.clock.now())
    expect((await seen())?.accountLimits).toEqual(NO_LIMITS)
    await limit({ maxOutputTokens: 512, allowedModels: ['acme/*'] })
    const found = await seen()
    expect(found?.accountLimits).toMatchObject({ allowedModels: ['acme/*'] })
    expect(found && outputBoundOf(found)).toBe(512)
    await bench.restart()
    expect((await seen())?.accountLimits).toMatchObject({ maxOutputTokens: 512 })
    expect((await bench.store.keys.find(key.id))?.accountLimits).toMatchObject({
      maxOutputTokens: 512,
    })
  })

  describe.each([
    ['rpm', 'rpm_limit', MINUTE_MS],
    ['rpd', 'rpd_limit', DAY_MS],
  ] as const)('the window of %s', (name, told, spanMs) => {
    test('is all its keys’, and frees a slot one span after its request, after a restart too', async () => {
      const [first, second] = await twoKeys()
      await bench.spend(first, '0.001')
      bench.clock.advance(1_500)
      await bench.spend(second, '0.001')
      // Set behind them: they count all the same.
      await limit({ [name]: 2 })
      for (const key of [first, second]) {
        const { refusal } = await bench.admit(key)
        expect(refusal).toEqual({
          code: 'rate_limit_exceeded',
          limit: told,
          of: 'account',
          limitValue: 2,
          used: 2,
          resetsAt: bench.clock.now() - 1_500 + spanMs,
          retryAfterSeconds: Math.ceil((spanMs - 1_500) / 1_000),
        })
      }
      await bench.restart()
      expect((await bench.admit(first)).refusal).toMatchObject({ of: 'account', used: 2 })
      bench.clock.advance(spanMs - 1_501)
      expect((await bench.admit(second)).refusal).toMatchObject({ retryAfterSeconds: 1 })
      bench.clock.advance(1)
      await bench.spend(second, '0.001')
      expect((await bench.admit(first)).refusal).toMatchObject({ of: 'account', used: 2 })
      await limit({ [name]: 3 })
      await bench.spend(first, '0.001')
      await limit({ [name]: null })
      await bench.spend(first, '0.001')
    })

    test('the clock set back frees no slot early, and another account has its own', async () => {
      const [first, second] = await twoKeys()
      const other = await bench.store.accounts.create(
        anAccount({ id: 'acct_2', name: 'b', limits: { ...NO_LIMITS, [name]: 1 } }),
        anAct(),
      )
      expect(other).toBeUndefined()
      await bench.topUp('10', 'acct_2')
      const { key: third } = await bench.issue({}, { accountId: 'acct_2' })
      await limit({ [name]: 2 })
      await bench.spend(first, '0.001')
      await bench.spend(second, '0.001')
      await bench.spend(third, '0.001')
      bench.clock.set(instant(bench.clock.now() - 3 * DAY_MS))
      expect((await bench.admit(first)).refusal).toMatchObject({ of: 'account', used: 2 })
      bench.clock.set(instant(bench.clock.now() + 3 * DAY_MS))
      expect((await bench.admit(second)).refusal).toMatchObject({ of: 'account', used: 2 })
      expect((await bench.admit(third)).refusal).toMatchObject({ of: 'account', limitValue: 1 })
    })
  })

  test('its key’s own limit is told first; places are counted over all keys', async () => {
    const { key: narrow } = await bench.issue({ concurrency: 1 })
    const { key: wide } = await bench.issue()
    await limit({ concurrency: 2 })
    const first = await bench.admit(narrow)
    const own = await bench.admit(narrow)
    expect(own.refusal).toMatchObject({ code: 'concurrency_limit_exceeded', limitValue: 1 })
    expect(own.refusal?.of).toBeUndefined()
    await bench.admit(wide)
    expect((await bench.admit(wide)).refusal).toEqual({
      code: 'concurrency_limit_exceeded',
      limit: 'concurrency_limit',
      of: 'account',
      limitValue: 2,
      used: 2,
      resetsAt: null,
      retryAfterSeconds: 1,
    })
    await bench.settle(first.claim, null)
    expect((await bench.admit(wide)).refusal).toBeNull()
  })

  describe.each([
    ['dailySpend', 'daily_spend_limit', '2026-08-23T00:00:00Z'],
    ['monthlySpend', 'monthly_spend_limit', '2026-09-01T00:00:00Z'],
  ] as const)('the ceiling %s', (name, told, resets) => {
    test('is all its keys’: a lone request may cross it, others wait, and then all are refused', async () => {
      const [first, second] = await twoKeys()
      await bench.spend(first, '0.4')
      await limit({ [name]: usd('1') })
      const { claim } = await bench.admit(first, '0.5')
      expect((await bench.admit(second, '0.2')).refusal).toEqual({
        code: 'spend_reserved',
        limit: `${told}_usd`,
        of: 'account',
        limitValue: '1.00',
        used: '0.90',
        resetsAt: null,
        retryAfterSeconds: 1,
        held: { usd: '0.50', requests: 1 },
      })
      expect((await bench.admit(second, '0.1')).refusal).toBeNull()
      await bench.settle(claim, '0.7')
      expect((await bench.admit(second)).refusal).toEqual({
        code: `${told}_exceeded`,
        limit: `${told}_usd`,
        of: 'account',
        limitValue: '1.00',
        used: '1.10',
        resetsAt: at(resets),
        retryAfterSeconds: null,
      })
      await bench.restart()
      expect((await bench.admit(first)).refusal).toMatchObject({ used: '1.10', of: 'account' })
      bench.clock.set(at(resets))
      expect((await bench.admit(first)).refusal).toBeNull()
    })

    test('no clock opens it twice', async () => {
      const [first, second] = await twoKeys()
      await limit({ [name]: usd('1') })
      bench.clock.set(instant(at(resets) - HOUR_MS))
      await bench.spend(first, '1')
      bench.clock.set(instant(at(resets) + HOUR_MS))
      await bench.spend(second, '1')
      for (const hours of [-1, 1, -30, 1]) {
        bench.clock.set(instant(at(resets) + hours * HOUR_MS))
        const { refusal } = await bench.admit(hours === -1 ? second : first)
        if (hours !== -30 || name === 'monthlySpend') {
          expect([hours, refusal?.of]).toEqual([hours, 'account'])
        }
      }
    })
  })

  test('T14: two hundred at once for ten slots, by four keys: ten are admitted', async () => {
    for (const name of ['rpm', 'rpd', 'concurrency'] as const) {
      const accountId = `acct_${name}` as const
      await bench.store.accounts.create(
        anAccount({ id: accountId, name, limits: { ...NO_LIMITS, [name]: 10 } }),
        anAct(),
      )
      await bench.topUp('10', accountId)
      const keys: ApiKey[] = []
      for (let n = 0; n < 4; n++) keys.push((await bench.issue({}, { accountId })).key)
      const claims = Array.from({ length: 200 }, (_, n) =>
        aClaim(keys[n % 4] as ApiKey, bench.clock.now()),
      )
      const { admissions } = bench.store
      const verdicts = await Promise.all(claims.map((claim) => admitClaim(admissions, claim)))
      expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(10)
    }
  })

  describe('a moved key', () => {
    const move = (key: ApiKey, to: `acct_${string}` = 'acct_2') =>
      bench.store.keys.move(key.id, to, anAct(bench.clock.now()))
    const openSecond = async (limits: Partial<Limits> = {}) => {
      const account = anAccount({ id: 'acct_2', name: 'b', limits: { ...NO_LIMITS, ...limits } })
      await bench.store.accounts.create(account, anAct())
      await bench.topUp('10', 'acct_2')
    }
    const spentToday = async () => {
      const days = await bench.store.admissions.spendByDay(dayOf(bench.clock.now()))
      const spent = days.filter((one) => one.spent !== 0n)
      return Object.fromEntries(spent.map((one) => [one.accountId, one.spent]))
    }

    test('keeps its secret and its limits, and has those of its new account', async () => {
      await openSecond({ allowedModels: ['acme/*'] })
      const { key, secret } = await bench.issue({ rpm: 1 })
      const { before, after } = await move(key)
      expect([before.accountId, after.accountId]).toEqual(['acct_1', 'acct_2'])
      const found = await bench.store.keys.findBySecret(secret, bench.clock.now())
      expect(found).toMatchObject({ accountId: 'acct_2', limits: { rpm: 1 } })
      expect(found?.accountLimits.allowedModels).toEqual(['acme/*'])
      const list = async (accountId: `acct_${string}`) =>
        (await bench.store.keys.list({ accountId, includeRevoked: true, limit: 9 })).totalCount
      expect([await list('acct_1'), await list('acct_2')]).toEqual([0, 1])
    })

    test('leaves what it has spent where it was charged; a request in progress is paid, and counts, where it was admitted', async () => {
      await openSecond({ dailySpend: usd('1') })
      await limit({ dailySpend: usd('1') })
      const { key } = await bench.issue()
      const { key: stays } = await bench.issue()
      await bench.spend(key, '0.3')
      const { claim } = await bench.admit(key, '0.2')
      const { after } = await move(key)
      expect((await bench.admit(stays, '0.9')).refusal).toMatchObject({ used: '0.50' })
      await bench.settle(claim, '0.2')
      expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('99.5'))
      expect((await bench.store.accounts.find('acct_2'))?.balance).toBe(usd('10'))
      expect(await spentToday()).toEqual({ acct_1: usd('0.5') })
      await bench.spend(stays, '0.5')
      expect((await bench.admit(stays)).refusal).toMatchObject({ used: '1.00', of: 'account' })
      await bench.spend(after, '1')
      expect((await bench.admit(after)).refusal).toMatchObject({ used: '1.00', of: 'account' })
      expect(await spentToday()).toEqual({ acct_1: usd('1'), acct_2: usd('1') })
      await bench.restart()
      expect((await bench.admit(after)).refusal).toMatchObject({ used: '1.00', of: 'account' })
      expect((await bench.admit(stays)).refusal).toMatchObject({ used: '1.00', of: 'account' })
      expect(await spentToday()).toEqual({ acct_1: usd('1'), acct_2: usd('1') })
      expect((await bench.store.audit()).findings).toEqual([])
    })

    test('its own ceilings go with it', async () => {
      await openSecond()
      const { key } = await bench.issue({ dailySpend: usd('0.5') })
      await bench.spend(key, '0.5')
      const { after } = await move(key)
      expect((await bench.admit(after)).refusal).toMatchObject({ used: '0.50' })
    })

    test('an account has spent on each day what it was charged, wherever its keys go, and by what they had in progress', async () => {
      await openSecond()
      const keys = await twoKeys()
      const [key] = keys
      for (const one of keys) await bench.spend(one, '0.1')
      bench.clock.advance(DAY_MS)
      const { claim } = await bench.admit(key, '0.2')
      await move(key)
      await bench.spend(key, '0.4')
      await move(key, 'acct_1')
      await bench.spend(key, '0.8')
      await move(key)
      await move(key)
      await bench.settle(claim, '0.2')
      expect(await spentToday()).toEqual({ acct_1: usd('1'), acct_2: usd('0.4') })
      const { admissions } = bench.store
      const days = await admissions.spendByDay(dayOf(instant(bench.clock.now() - DAY_MS)))
      expect(days.map(({ accountId, requests }) => [accountId, requests])).toEqual([
        ['acct_1', 2],
        ['acct_1', 2],
        ['acct_2', 1],
      ])
      expect(days[0]?.spent).toBe(usd('0.2'))
      expect((await bench.store.audit()).findings).toEqual([])
    })

    test('what ends with its process counts where it was admitted, too', async ({ skip }) => {
      if (!bench.survives) skip('a store in memory ends with its process')
      await openSecond()
      const { key } = await bench.issue()
      await bench.admit(key, '0.2')
      await move(key)
      await bench.restart()
      const { admissions } = bench.store
      const days = await admissions.spendByDay(dayOf(bench.clock.now()))
      expect(days.map(({ accountId }) => accountId)).toEqual(bench.survives ? ['acct_1'] : [])
    })

    test('a request that arrived before the move and is admitted after it is its new account’s, in the log too', async () => {
      await openSecond({ rpm: 1 })
      const { key } = await bench.issue()
      await move(key)
      // It knows the key as it was when it arrived.
      const { claim } = await bench.admit(key, '0.2')
      await bench.settle(claim, '0.2')
      const { accounts, activity, ledger } = bench.store
      expect((await accounts.find('acct_2'))?.balance).toBe(usd('9.8'))
      expect(await activity.find(claim.generationId)).toMatchObject({ accountId: 'acct_2' })
      expect(await ledger.chargeOf(claim.generationId)).toMatchObject({ accountId: 'acct_2' })
      await bench.restart()
      const { refusal } = await bench.admit(key)
      expect(refusal).toMatchObject({ limit: 'rpm_limit', of: 'account', used: 1 })
    })

    test('opens no ceiling of the account that it leaves, and closes none of the other, also after a restart', async () => {
      await openSecond({ monthlySpend: usd('1') })
      await limit({ monthlySpend: usd('1') })
      const { key } = await bench.issue()
      const { key: stays } = await bench.issue()
      const there = (await bench.issue({}, { accountId: 'acct_2' })).key
      await bench.spend(key, '0.9')
      await bench.spend(there, '0.4')
      await bench.restart()
      // Both accounts have read what they spent.
      for (const other of [stays, there]) await bench.spend(other, '0.01')
      await move(key)
      await bench.spend(there, '0.59')
      await bench.spend(stays, '0.09')
      for (const restarts of [false, true]) {
        if (restarts) await bench.restart()
        for (const one of [stays, there, key]) {
          expect((await bench.admit(one)).refusal).toMatchObject({ used: '1.00', of: 'account' })
        }
      }
    })

    test('is none that is revoked, and goes to no account that is closed or missing', async () => {
      await openSecond()
      const { key } = await bench.issue()
      await expect(move(key, 'acct_none')).rejects.toMatchObject({ code: 'account_not_found' })
      await bench.store.accounts.close('acct_2', anAct(bench.clock.now()))
      await expect(move(key)).rejects.toMatchObject({ code: 'account_closed' })
      await bench.store.keys.revoke(key.id, anAct(bench.clock.now()))
      await expect(move(key, 'acct_1')).rejects.toMatchObject({ code: 'key_revoked' })
    })
  })

  test('an account is closed once its keys are revoked, and gets no further ones', async () => {
    const { key } = await bench.issue()
    const close = () => bench.store.accounts.close('acct_1', anAct(bench.clock.now()))
    await expect(close()).rejects.toMatchObject({ code: 'invalid_request' })
    await bench.store.keys.revoke(key.id, anAct())
    const closed = await close()
    expect(closed.closedAt).toBe(bench.clock.now())
    bench.clock.advance(5)
    expect(await close()).toEqual(closed)
    await bench.restart()
    expect(await bench.store.accounts.find('acct_1')).toEqual(closed)
    await expect(bench.issue()).rejects.toMatchObject({ code: 'account_closed' })
    await expect(limit({ rpm: 1 })).rejects.toMatchObject({ code: 'account_closed' })
    await expect(bench.store.accounts.close('acct_none', anAct())).rejects.toMatchObject({
      code: 'account_not_found',
    })
  })
}
