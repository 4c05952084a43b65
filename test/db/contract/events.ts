/** What every engine promises about events: a cause is told once, in the transaction of what causes it, or held back whole. */
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, later } from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import type { AccountId } from '#domain/id.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { readDayMinute } from '#domain/notice-settings.ts'
import { aClaim, anAccount, anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const MINUTE_MS = 60_000

export function eventsContract(bench: Bench): void {
  const now = () => bench.clock.now()
  const failed = (reason = 'no room'): RaisedEvent =>
    draftEvent('gateway.backup_failed', { file: null, reason }, now())
  const raise = (event: RaisedEvent) => bench.store.events.raise(event, null)
  const lift = (then: RaisedEvent | null = null) =>
    bench.store.events.lift('gateway.backup_failed', 'backup', now(), then)
  const list = () => bench.store.events.list({ limit: 99 })
  const sent = () => bench.store.notices.list({ limit: 99 })
  const tellBy = (change: Parameters<typeof bench.store.noticeSettings.set>[0]) =>
    bench.store.noticeSettings.set(change, { secret: 'whsec_1', rotates: false }, anAct(now()))
  const minute = (text: string): number => readDayMinute(text) ?? Number.NaN
  /** The minute of the day that is so many minutes from now. */
  const inMinutes = (more: number): number => {
    const at = new Date(now() + more * MINUTE_MS)
    return at.getUTCHours() * 60 + at.getUTCMinutes()
  }

  test('the events of an account are those that name it, newest first, by page', async () => {
    const facts = (account_id: AccountId, n: number) => ({
      account_id,
      account_name: 'a',
      limit: 'daily_spend_limit_usd' as const,
      limit_usd: '5.00',
      used_usd: `${n}.00`,
      percent: n,
      resets_at: '2026-11-25T00:00:00Z',
    })
    const raised: string[] = []
    for (const [account, percent] of [
      ['acct_1', 80],
      ['acct_2', 80],
      ['acct_1', 95],
      ['acct_1', 100],
    ] as const) {
      bench.clock.advance(1_000)
      const event = draftEvent('gateway.account_ceiling', facts(account, percent), now())
      await raise(event)
      if (account === 'acct_1') raised.unshift(event.id)
    }
    await raise(failed())
    const of = async (query: object) =>
      (await bench.store.events.list({ accountId: 'acct_1', limit: 2, ...query })).map(
        ({ id }) => id,
      )
    expect(await of({})).toEqual(raised.slice(0, 2))
    expect(await of({ before: raised[1] })).toEqual(raised.slice(2))
    expect(await bench.store.events.list({ accountId: 'acct_3', limit: 9 })).toEqual([])
    expect(await list()).toHaveLength(5)
  })

  describe('a cause', () => {
    test('is raised once while it lasts, and anew after it was lifted; also after a restart', async () => {
      const first = failed()
      expect(await raise(first)).toBe(true)
      expect(await raise(failed('still no room'))).toBe(false)
      await bench.restart()
      expect(await raise(failed())).toBe(false)
      expect(await list()).toMatchObject([{ id: first.id, liftedAt: null, seenAt: null }])
      bench.clock.advance(1_000)
      expect(await lift()).toBe(true)
      expect(await lift()).toBe(false)
      expect(await list()).toMatchObject([{ liftedAt: now() }])
      expect(await raise(failed())).toBe(true)
      expect(await list()).toHaveLength(2)
    })

    test('that is lifted raises what follows with it, and nothing where none was open', async () => {
      const over = () =>
        draftEvent(
          'gateway.provider_recovered',
          { provider: 'a', credential: null, event_id: 'evt_1' },
          now(),
        )
      expect(await lift(over())).toBe(false)
      expect(await list()).toEqual([])
      await raise(failed())
      expect(await lift(over())).toBe(true)
      expect((await list()).map(({ cause }) => cause)).toEqual([
        'gateway.provider_recovered',
        'gateway.backup_failed',
      ])
    })

    test('is told by each address that is set then, under its own id', async () => {
      await raise(failed())
      await lift()
      expect(await sent()).toEqual([])
      await tellBy({ email: 'ops@example.org', webhookUrl: 'https://ops.example.org/h' })
      const event = failed()
      await raise(event)
      const notice = { eventId: event.id, accountId: null, body: event.body, state: 'pending' }
      expect(await sent()).toMatchObject([
        { ...notice, channel: 'email' },
        { ...notice, channel: 'webhook' },
      ])
      expect(await bench.store.events.find(event.id)).toMatchObject({ sentAs: event.id })
    })
  })

  describe('quiet hours and a digest', () => {
    test('hold back; what was held alone is sent as itself', async () => {
      const quiet = { from: inMinutes(-1), until: inMinutes(10) }
      await tellBy({ email: 'ops@example.org', quiet })
      const event = failed()
      await raise(event)
      await bench.restart()
      expect(await sent()).toEqual([])
      expect(await bench.store.events.release(now())).toBe(0)
      bench.clock.advance(11 * MINUTE_MS)
      expect(await bench.store.events.release(now())).toBe(1)
      expect(await bench.store.events.release(now())).toBe(0)
      expect(await sent()).toMatchObject([{ eventId: event.id, body: event.body }])
    })

    test('other settings hold for what waits already', async () => {
      const warning = () => draftEvent('gateway.sweep_failed', { reason: 'x' }, now())
      await tellBy({ email: 'ops@example.org', digestAt: inMinutes(600) })
      await raise(failed())
      await raise(warning())
      await tellBy({ ceilingPercents: [50] })
      expect(await bench.store.events.release(now())).toBe(0)
      await tellBy({ wakesForCritical: true })
      expect(await bench.store.events.release(now())).toBe(1)
      await tellBy({ digestAt: inMinutes(10) })
      expect(await bench.store.events.release(now())).toBe(0)
      await tellBy({ digestAt: null })
      expect(await bench.store.events.release(now())).toBe(1)
    })

    test('several are sent as one, and each says as which', async () => {
      await tellBy({ email: 'ops@example.org', digestAt: inMinutes(60) })
      const events = [failed(), draftEvent('gateway.sweep_failed', { reason: 'x' }, now())]
      for (const event of events) await raise(event)
      bench.clock.advance(HOUR_MS + MINUTE_MS)
      expect(await bench.store.events.release(now())).toBe(2)
      const [digest, ...more] = await sent()
      expect([digest?.type, more]).toEqual(['gateway.digest', []])
      expect(JSON.parse(digest?.body ?? '').data.notices).toEqual(
        events.map(({ body }) => JSON.parse(body)),
      )
      for (const { sentAs } of await list()) expect(sentAs).toBe(digest?.eventId ?? '')
    })

    test('a clock that was ahead holds nothing back for ever', async () => {
      await tellBy({ email: 'ops@example.org', digestAt: minute('08:00') })
      bench.clock.step(9 * DAY_MS)
      await raise(failed())
      bench.clock.step(-9 * DAY_MS)
      expect(await bench.store.events.release(now())).toBe(1)
    })

    test('a storm goes out together, also one that goes on', async () => {
      await tellBy({ email: 'ops@example.org' })
      for (let n = 0; n < 70; n++) {
        const facts = { host: `h${n}`, ends_at: '2026-12-01T00:00:00Z', days_left: 3 }
        await raise(draftEvent('gateway.certificate_ending', facts, now()))
        if (n >= 60) bench.clock.advance(MINUTE_MS)
      }
      expect(await sent()).toHaveLength(60)
      bench.clock.advance(HOUR_MS - 10 * MINUTE_MS)
      // One mail at the end of the hour, and not one for each at the end of its own.
      expect(await bench.store.events.release(now())).toBe(10)
      expect(await sent()).toHaveLength(61)
    })

    test('a storm of one cause, or of its warnings, holds back nothing else', async () => {
      await tellBy({ email: 'ops@example.org' })
      for (let n = 0; n < 61; n++) {
        const facts = { host: `h${n}`, ends_at: '2026-12-01T00:00:00Z', days_left: 3 }
        await raise(draftEvent('gateway.certificate_ending', facts, now()))
      }
      expect(await sent()).toHaveLength(60)
      const ended = { host: 'h', ends_at: '2026-12-01T00:00:00Z', days_left: 0 }
      await raise(draftEvent('gateway.certificate_ending', ended, now()))
      await raise(failed())
      expect(await sent()).toHaveLength(62)
    })
  })

  describe('a ceiling', () => {
    const told = async () =>
      (await list())
        .toReversed()
        .map(({ cause, body }) => [cause, JSON.parse(body).data.percent] as const)
    const spendAll = async (limits: Partial<Limits>, amounts: readonly string[]) => {
      const { key } = await bench.issue(limits)
      for (const amount of amounts) await bench.spend(key, amount)
      return key
    }

    test('of a key is told at each share once, in the charge that passed it', async () => {
      const key = await spendAll({ dailySpend: usd('1') }, ['0.79'])
      expect(await told()).toEqual([])
      await bench.spend(key, '0.02')
      await bench.spend(key, '0.02')
      expect(await told()).toEqual([['gateway.key_ceiling', 80]])
      await bench.restart()
      await bench.spend(key, '0.02')
      expect(await told()).toEqual([['gateway.key_ceiling', 80]])
      await bench.spend(key, '0.20')
      expect(await told()).toEqual([
        ['gateway.key_ceiling', 80],
        ['gateway.key_ceiling', 100],
      ])
      bench.clock.advance(DAY_MS)
      await bench.spend(key, '0.90')
      expect(await told()).toHaveLength(3)
    })

    test('both of a key are told, and a share that was leapt over is not', async () => {
      await spendAll({ dailySpend: usd('1'), monthlySpend: usd('1') }, ['1.01'])
      const limits = (await list()).map(({ body }) => JSON.parse(body).data.limit).toSorted()
      expect(limits).toEqual(['daily_spend_limit_usd', 'monthly_spend_limit_usd'])
    })

    test('another ceiling is told anew, the same one again is not', async () => {
      const key = await spendAll({ dailySpend: usd('1') }, ['0.9'])
      const amend = (ceiling: string) =>
        bench.store.keys.amend(key.id, { limits: { dailySpend: usd(ceiling) } }, anAct(now()))
      await amend('100')
      await bench.spend(key, '0.01')
      await amend('1')
      await bench.spend(key, '0.01')
      expect(await told()).toEqual([['gateway.key_ceiling', 80]])
      await amend('1.1')
      await bench.spend(key, '0.01')
      expect(await told()).toHaveLength(2)
    })

    test('that is lowered to what is spent is told at once, once, and not where it stays above', async () => {
      const key = await spendAll({ dailySpend: usd('10') }, ['0.9'])
      const change = (limits: Partial<Limits>) =>
        bench.store.keys.amend(key.id, { limits }, anAct(now()))
      await change({ dailySpend: usd('5') })
      expect(await told()).toEqual([])
      await change({ dailySpend: usd('1') })
      await change({ dailySpend: usd('0.5'), rpm: 9 })
      const both = [
        ['gateway.key_ceiling', 80],
        ['gateway.key_ceiling', 100],
      ]
      expect(await told()).toEqual(both)
      await change({ dailySpend: usd('50') })
      await change({ dailySpend: usd('0.5') })
      await bench.restart()
      await change({ rpm: null })
      expect(await told()).toEqual(both)
      await change({ monthlySpend: usd('0.9') })
      expect(await told()).toEqual([...both, ['gateway.key_ceiling', 100]])
    })

    test('of an account is told at once where it is lowered, and not where a key moves in that has spent elsewhere', async () => {
      const limits = { ...NO_LIMITS, dailySpend: usd('0.5') }
      const other = anAccount({ id: 'acct_2', name: 'b', limits })
      await bench.store.accounts.create(other, anAct())
      const key = await spendAll({}, ['0.9'])
      const lower = { limits: { monthlySpend: usd('1') } }
      await bench.store.accounts.amend('acct_1', lower, anAct(now()))
      await bench.store.accounts.amend('acct_1', lower, anAct(now()))
      expect(await told()).toEqual([['gateway.account_ceiling', 80]])
      await bench.store.keys.move(key.id, 'acct_2', anAct(now()))
      expect(await told()).toEqual([['gateway.account_ceiling', 80]])
      await bench.topUp('1', 'acct_2')
      expect((await bench.admit(key)).refusal).toBe(null)
    })

    test('other shares hold from the next charge on; none tells nothing', async () => {
      const key = await spendAll({ dailySpend: usd('1') }, ['0.5'])
      await tellBy({ ceilingPercents: [50] })
      await bench.spend(key, '0.01')
      expect(await told()).toEqual([['gateway.key_ceiling', 50]])
      await tellBy({ ceilingPercents: [] })
      await bench.spend(key, '0.9')
      expect(await told()).toHaveLength(1)
    })

    test('of an account is told for all its keys together', async () => {
      const limits = { dailySpend: usd('1') }
      await bench.store.accounts.amend('acct_1', { limits }, anAct(now()))
      await spendAll({}, ['0.5'])
      expect(await told()).toEqual([])
      await spendAll({}, ['0.4'])
      expect(await told()).toEqual([['gateway.account_ceiling', 80]])
      await bench.restart()
      await spendAll({}, ['0.05', '0.05'])
      expect(await told()).toEqual([
        ['gateway.account_ceiling', 80],
        ['gateway.account_ceiling', 100],
      ])
      const raised = { limits: { dailySpend: usd('1.2') } }
      await bench.store.accounts.amend('acct_1', raised, anAct(now()))
      await spendAll({}, ['0.01'])
      expect(await told()).toHaveLength(3)
    })

    test('of end users that is lowered to what some have spent is told of those at once, once', async () => {
      const { key } = await bench.issue()
      for (const [endUser, amount] of [
        ['ann', '0.5'],
        ['bob', '0.9'],
        ['cid', '0.1'],
        ['dan', '0'],
      ] as const) {
        const claim = { ...aClaim(key, now(), usd(amount)), endUser }
        await bench.store.admissions.admit(claim)
        await bench.settle(claim, amount)
      }
      const lower = (endUserDailySpend: UsdNanos | null) =>
        bench.store.keys.amend(key.id, { limits: { endUserDailySpend } }, anAct(now()))
      await lower(usd('0.6'))
      const users = async () =>
        (await list()).map(({ body }) => {
          const { end_user, percent } = JSON.parse(body).data
          return [end_user, percent]
        })
      expect((await users()).toSorted()).toEqual([
        ['ann', 80],
        ['bob', 100],
      ])
      await lower(null)
      await lower(usd('0.6'))
      expect(await users()).toHaveLength(2)
      await lower(usd('0'))
      expect(new Set((await users()).map(([user]) => user))).toEqual(new Set(['ann', 'bob', 'cid']))
    })

    test('of an end user is told by its name', async () => {
      const { key } = await bench.issue({ endUserDailySpend: usd('1') })
      const claim = { ...aClaim(key, now(), usd('0.85')), endUser: 'u_204' }
      expect((await bench.store.admissions.admit(claim)) as object).toMatchObject({
        admitted: true,
      })
      await bench.settle(claim, '0.85')
      const [event] = await list()
      expect(JSON.parse(event?.body ?? '').data).toMatchObject({ end_user: 'u_204', percent: 80 })
    })

    test('a charge beyond its hold is told once a day for its model', async () => {
      const { key } = await bench.issue({})
      for (let n = 0; n < 2; n++) {
        const { claim } = await bench.admit(key, '0.01')
        await bench.settle(claim, '0.02')
      }
      expect(await told()).toEqual([['gateway.charge_beyond_hold', undefined]])
    })
  })

  describe('what was raised', () => {
    test('is listed page by page, counted while unseen, and seen up to one', async () => {
      const events: RaisedEvent[] = []
      for (let n = 0; n < 3; n++) {
        bench.clock.advance(1_000)
        const facts = { host: `h${n}`, ends_at: '2026-12-01T00:00:00Z', days_left: 3 }
        const event = draftEvent('gateway.certificate_ending', facts, now())
        events.push(event)
        await raise(event)
      }
      const ids = events.map(({ id }) => id).toReversed()
      expect((await list()).map(({ id }) => id)).toEqual(ids)
      const page = await bench.store.events.list({ before: ids[0]!, limit: 1 })
      expect(page.map(({ id }) => id)).toEqual([ids[1]])
      expect(await bench.store.events.unseen()).toBe(3)
      expect(await bench.store.events.see(ids[1]!, anAct(now()))).toBe(2)
      expect(await bench.store.events.see(ids[1]!, anAct(now()))).toBe(0)
      const unseen = await bench.store.events.list({ unseenOnly: true, limit: 9 })
      expect(unseen.map(({ id }) => id)).toEqual([ids[0]])
      // A certificate does not last: it happened.
      expect(await bench.store.events.list({ openOnly: true, limit: 9 })).toEqual([])
    })

    test('is removed once it is old', async () => {
      await raise(failed())
      expect(await bench.store.events.trim(now(), 9)).toBe(0)
      expect(await bench.store.events.trim(later(now(), 1), 9)).toBe(1)
      expect(await list()).toEqual([])
    })
  })

  describe('settings of notices', () => {
    test('are those of the first day until they are set, and kept as they were set', async () => {
      const { noticeSettings } = bench.store
      expect(await noticeSettings.find()).toMatchObject({ email: null, ceilingPercents: [80, 100] })
      const stated = {
        email: 'ops@example.org',
        webhookUrl: 'https://ops.example.org/h',
        ceilingPercents: [50, 90],
        quiet: { from: 1_320, until: 420 },
        digestAt: 480,
        wakesForCritical: true,
      }
      expect(await tellBy(stated)).toMatchObject({ after: stated, hasNewSecret: true })
      await bench.restart()
      expect(await bench.store.noticeSettings.find()).toEqual(stated)
      expect(await bench.store.noticeSettings.webhookSecret()).toBe('whsec_1')
      expect(await tellBy({ digestAt: null })).toMatchObject({ hasNewSecret: false })
      await tellBy({ webhookUrl: null })
      expect(await bench.store.noticeSettings.webhookSecret()).toBeNull()
    })
  })
}
