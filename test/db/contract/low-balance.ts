/** What every engine promises about thresholds: whatever moves the balance moves the mark with it, and tells once. */
import { describe, expect, test } from 'vitest'
import { DAY_MS, later } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Threshold } from '#domain/low-balance.ts'
import type { Notice } from '#domain/notice.ts'
import { aClaim, anAccount, anAct, aThreshold, aTopUp, rate, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const HOUR_MS = 3_600_000

/** An account with $100 is there; its threshold is $20 unless a test says otherwise. */
export function lowBalanceContract(bench: Bench): void {
  const set = (stated: Partial<Threshold> = {}, secret?: string, rotates = true) =>
    bench.store.thresholds.set(
      aThreshold(stated),
      secret === undefined ? secret : { secret, rotates },
      anAct(bench.clock.now()),
    )
  const find = () => bench.store.thresholds.find('acct_1')
  const mark = async () => (await find()).mark
  const adjust = (amount: string) =>
    bench.store.ledger.credit(aTopUp(bench.clock.now(), usd(amount), { kind: 'adjust' }), anAct())
  const told = () => bench.store.notices.list({ limit: 99 })
  const events = async () => new Set((await told()).map(({ eventId }) => eventId)).size
  const marked = () => ({ notifiedAt: bench.clock.now() })

  describe('a threshold', () => {
    test('that was never set asks for nothing', async () => {
      const nothing = { below: null, email: null, webhookUrl: null, mark: null }
      expect(await find()).toEqual({ accountId: 'acct_1', ...nothing })
      expect(await bench.store.thresholds.webhookSecret('acct_1')).toBeNull()
    })

    test('is kept as it was set, all of it, also after a restart', async () => {
      await set({ below: usd('0.000000001') }, 'whsec_one')
      await bench.restart()
      expect(await find()).toEqual({ ...aThreshold({ below: usd('0.000000001') }), mark: null })
      await set({ below: null, email: null })
      expect(await find()).toEqual({ ...aThreshold({ below: null, email: null }), mark: null })
    })

    test('keeps its secret until another comes, or its webhook goes', async () => {
      const secret = () => bench.store.thresholds.webhookSecret('acct_1')
      await set({}, 'whsec_one')
      await set({ below: usd('5') })
      await bench.restart()
      expect(await secret()).toBe('whsec_one')
      expect(await set({}, 'whsec_not_needed', false)).toMatchObject({ hasNewSecret: false })
      expect(await secret()).toBe('whsec_one')
      expect(await set({}, 'whsec_two')).toMatchObject({ hasNewSecret: true })
      expect(await secret()).toBe('whsec_two')
      await set({ webhookUrl: null })
      expect(await secret()).toBeNull()
      await set({})
      expect(await secret()).toBeNull()
    })

    test('changes in the stated fields alone, as it is by then', async () => {
      const { thresholds } = bench.store
      const at = bench.clock.now()
      await set({ webhookUrl: 'https://hooks.example.org/' }, 'whsec_one')
      await Promise.all([
        thresholds.set({ accountId: 'acct_1', webhookUrl: null }, undefined, anAct(at)),
        thresholds.set({ accountId: 'acct_1', email: 'new@example.org' }, undefined, anAct(at)),
      ])
      const left = aThreshold({ webhookUrl: null, email: 'new@example.org' })
      expect(await find()).toEqual({ ...left, mark: null })
      await bench.restart()
      expect(await find()).toEqual({ ...left, mark: null })
      expect(await bench.store.thresholds.webhookSecret('acct_1')).toBeNull()
    })

    test('is read with those of other accounts, in their order', async () => {
      const { accounts, thresholds } = bench.store
      await accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      await set()
      const { key } = await bench.issue()
      await bench.spend(key, '81')
      const all = [await find(), await thresholds.find('acct_2')]
      expect(all.map(({ mark }) => mark)).toEqual([marked(), null])
      expect(await thresholds.findMany(['acct_1', 'acct_2'])).toEqual(all)
      expect(await thresholds.findMany(['acct_2', 'acct_1'])).toEqual(all.toReversed())
      expect(await thresholds.findMany([])).toEqual([])
    })

    test('of an unknown account is refused', async () => {
      const { thresholds } = bench.store
      const accountId = 'acct_none'
      const now = bench.clock.now()
      for (const act of [
        () => thresholds.find(accountId),
        () => thresholds.findMany(['acct_1', accountId]),
        () => thresholds.webhookSecret(accountId),
        () => thresholds.set(aThreshold({ accountId }), undefined, anAct(now)),
      ]) {
        await expect(act()).rejects.toMatchObject({ code: 'account_not_found' })
      }
    })
  })

  describe('a charge', () => {
    test('that leaves less than the threshold marks, and tells on both channels in one event', async () => {
      for (const [rub, daysFromNow] of [
        ['80', -2],
        ['92.5', -1],
        ['99', 1],
      ] as const) {
        const from = later(bench.clock.now(), daysFromNow * DAY_MS)
        await bench.store.rates.set(rate(rub), from, anAct(bench.clock.now()))
      }
      await set()
      const { key } = await bench.issue()
      await bench.spend(key, '79')
      expect([await mark(), await events()]).toEqual([null, 0])
      bench.clock.advance(1_000)
      await bench.spend(key, '1.5')
      expect(await mark()).toEqual(marked())
      const [email, webhook, ...more] = await told()
      expect(more).toEqual([])
      const body = {
        type: 'gateway.low_balance',
        id: email?.eventId,
        timestamp: '2026-08-22T12:00:01Z',
        data: {
          account_id: 'acct_1',
          balance_usd: '19.50',
          balance_rub: 1803.75,
          threshold_usd: '20.00',
        },
      }
      const expected: Partial<Notice> = {
        accountId: 'acct_1',
        type: 'gateway.low_balance',
        createdAt: bench.clock.now(),
        state: 'pending',
        tries: 0,
        nextTryAt: bench.clock.now(),
      }
      expect(email?.eventId).toMatch(/^evt_/)
      expect(email).toMatchObject({ ...expected, channel: 'email' })
      expect(webhook).toMatchObject({ ...expected, channel: 'webhook', eventId: email?.eventId })
      expect(JSON.parse(email?.body ?? '')).toEqual(body)
      expect(webhook?.body).toBe(email?.body)
      await bench.restart()
      expect(await told()).toEqual([email, webhook])
    })

    test.each([
      ['an e-mail where one is set', { webhookUrl: null }, ['email']],
      ['a webhook where one is set', { email: null }, ['webhook']],
      ['nothing where neither is set, and the mark moves', { email: null, webhookUrl: null }, []],
    ])('posts %s', async (_, stated, channels) => {
      await set(stated)
      const { key } = await bench.issue()
      await bench.spend(key, '80.5')
      expect(await mark()).toEqual(marked())
      expect((await told()).map(({ channel }) => channel)).toEqual(channels)
    })

    test('tells once a day while the balance stays below', async () => {
      await set()
      const { key } = await bench.issue()
      await bench.spend(key, '81')
      const first = bench.clock.now()
      bench.clock.advance(DAY_MS - 1)
      await bench.spend(key, '1')
      expect([await mark(), await events()]).toEqual([{ notifiedAt: first }, 1])
      bench.clock.advance(1)
      // What costs nothing is no debit.
      const { claim } = await bench.admit(key)
      await bench.settle(claim, null)
      const { claim: free } = await bench.admit(key)
      await bench.settle(free, '0')
      expect(await events()).toBe(1)
      await bench.spend(key, '1')
      expect([await mark(), await events()]).toEqual([marked(), 2])
      const { body } = (await told())[0] ?? {}
      expect(JSON.parse(body ?? '')).toMatchObject({ data: { balance_usd: '17.00' } })
    })

    test('that ends on the threshold itself marks nothing', async () => {
      await set()
      const { key } = await bench.issue()
      await bench.spend(key, '80')
      expect([await mark(), await events()]).toEqual([null, 0])
      await bench.spend(key, '0.000000001')
      expect([await mark(), await events()]).toEqual([marked(), 1])
    })

    test('that goes below nothing tells so, in both currencies', async () => {
      await set({ below: usd('0') })
      const { key } = await bench.issue()
      await bench.spend(key, '100.000000001')
      const { body } = (await told())[0] ?? {}
      const data = { balance_usd: '-0.000000001', balance_rub: 0, threshold_usd: '0' }
      expect(JSON.parse(body ?? '')).toMatchObject({ data })
    })

    test('among two hundred at once tells once', async () => {
      await set()
      const { key } = await bench.issue()
      const claims = await Promise.all(
        Array.from({ length: 200 }, async () => (await bench.admit(key, '0.45')).claim),
      )
      await Promise.all(claims.map((claim) => bench.settle(claim, '0.45')))
      expect([await mark(), await events()]).toEqual([marked(), 1])
      expect((await bench.store.accounts.find('acct_1'))?.balance).toBe(usd('10'))
    })

    test('of another account is not this one’s affair', async () => {
      await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
      await bench.topUp('100', 'acct_2')
      await set()
      const { key: other } = await bench.issue({}, { accountId: 'acct_2' })
      await bench.spend(other, '99')
      expect([await mark(), await events()]).toEqual([null, 0])
    })
  })

  describe('a credit', () => {
    const fall = async (): Promise<ApiKey> => {
      await set()
      const { key } = await bench.issue()
      await bench.spend(key, '90')
      bench.clock.advance(HOUR_MS)
      return key
    }

    test('above the threshold resets the mark: the next fall notifies at once', async () => {
      const key = await fall()
      await bench.topUp('10.000000001')
      expect(await mark()).toBeNull()
      await bench.spend(key, '1')
      expect([await mark(), await events()]).toEqual([marked(), 2])
    })

    test('up to the threshold itself, or below it, leaves the mark and tells nothing', async () => {
      const key = await fall()
      bench.clock.advance(2 * DAY_MS)
      await bench.topUp('5')
      await bench.topUp('5')
      const since = { notifiedAt: later(bench.clock.now(), -2 * DAY_MS - HOUR_MS) }
      expect([await mark(), await events()]).toEqual([since, 1])
      await bench.spend(key, '1')
      expect([await mark(), await events()]).toEqual([marked(), 2])
    })

    test('that is an adjustment downwards is a debit', async () => {
      await set()
      await adjust('-81')
      expect([await mark(), await events()]).toEqual([marked(), 1])
      bench.clock.advance(DAY_MS)
      await adjust('-1')
      expect([await mark(), await events()]).toEqual([marked(), 2])
      await adjust('50')
      expect(await mark()).toBeNull()
    })

    test('that is refused moves nothing', async () => {
      await fall()
      const [before, repeated] = [await find(), aTopUp(bench.clock.now(), usd('1'), { ref: 'r' })]
      await bench.store.ledger.credit(repeated, anAct())
      const again = aTopUp(bench.clock.now(), usd('99'), { ref: 'r' })
      await expect(bench.store.ledger.credit(again, anAct())).rejects.toThrow()
      expect(await find()).toEqual(before)
    })
  })

  describe('a change of the threshold', () => {
    test('above the balance marks and tells; below it resets', async () => {
      await set({ below: usd('100.01') })
      expect([await mark(), await events()]).toEqual([marked(), 1])
      bench.clock.advance(HOUR_MS)
      await set({ below: usd('99.99') })
      expect([await mark(), await events()]).toEqual([null, 1])
      await set({ below: usd('101') })
      expect([await mark(), await events()]).toEqual([marked(), 2])
    })

    test('that leaves the balance below it is no news, however old the mark', async () => {
      await set({ below: usd('101') })
      const since = marked()
      bench.clock.advance(2 * DAY_MS)
      await set({ below: usd('500') })
      await set({ below: usd('100') })
      expect([await mark(), await events()]).toEqual([since, 1])
    })

    test('to the balance itself neither marks nor resets', async () => {
      await set({ below: usd('100') })
      expect([await mark(), await events()]).toEqual([null, 0])
    })

    test('to none takes the mark away, and nothing is judged any more', async () => {
      await set({ below: usd('101') })
      await set({ below: null })
      const { key } = await bench.issue()
      await bench.spend(key, '99')
      expect([await mark(), await events()]).toEqual([null, 1])
    })

    test('holds for requests that are in progress', async () => {
      const { key } = await bench.issue()
      const { claim } = await bench.admit(key, '90')
      await set()
      await bench.settle(claim, '90')
      expect([await mark(), await events()]).toEqual([marked(), 1])
    })

    test('to other channels is heeded by the next notice', async () => {
      await set({ webhookUrl: null })
      await set({ email: null })
      const { key } = await bench.issue()
      await bench.spend(key, '99')
      expect((await told()).map(({ channel }) => channel)).toEqual(['webhook'])
    })
  })

  test.each([
    ['moved the mark', async () => expect(await mark()).toEqual(marked())],
    ['told', async () => expect(await events()).toBe(1)],
  ])('a charge that was settled a moment ago has %s', async (_, look) => {
    await Promise.all([find(), told()])
    await set()
    const { key } = await bench.issue()
    const claim = aClaim(key, bench.clock.now(), usd('90'))
    await bench.store.admissions.admit(claim)
    const settled = bench.settle(claim, '90')
    await look()
    await settled
  })

  test('a mark is remembered over a restart: no second notice within its day', async () => {
    await set()
    const { key } = await bench.issue()
    await bench.spend(key, '90')
    const since = marked()
    bench.clock.advance(HOUR_MS)
    await bench.restart()
    await bench.spend(key, '1')
    expect([await mark(), await events()]).toEqual([since, 1])
    await bench.topUp('50')
    await bench.restart()
    expect(await mark()).toBeNull()
    await bench.spend(key, '50')
    expect([await mark(), await events()]).toEqual([marked(), 2])
  })
}
