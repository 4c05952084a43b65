/** What every engine promises about the outbox: a notice is given to one courier at a time until it has arrived. */
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, type Instant, later } from '#domain/clock.ts'
import type { DeliveryTry, Notice } from '#domain/notice.ts'
import { aNotice, anAccount, anAct } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const LEASE_MS = 60_000

export function noticesContract(bench: Bench): void {
  const now = () => bench.clock.now()
  const post = async (stated: Partial<Notice> = {}): Promise<Notice> => {
    const notice = aNotice(now(), stated)
    await bench.store.notices.post([notice], anAct())
    return notice
  }
  const claim = (limit = 9) => bench.store.notices.claim(now(), later(now(), LEASE_MS), limit)
  const aTry = (stated: Partial<DeliveryTry> = {}): DeliveryTry => ({
    at: now(),
    status: 204,
    failure: null,
    ms: 131,
    ...stated,
  })
  const tried = (
    { eventId, channel }: Notice,
    attempt: DeliveryTry,
    state: Notice['state'],
    nextTryAt: Instant | null = null,
  ) => bench.store.notices.tried(eventId, channel, attempt, { state, nextTryAt })
  const find = async ({ eventId, channel }: Notice) =>
    (await bench.store.notices.find(eventId)).find((one) => one.channel === channel)

  test('what was posted is found as it was, by channel, also after a restart', async () => {
    const webhook = await post({ body: '{"a":"Grüße \\u0000"}' })
    const email = await post({ eventId: webhook.eventId, channel: 'email' })
    await bench.restart()
    expect(await bench.store.notices.find(webhook.eventId)).toEqual([
      { ...email, log: [] },
      { ...webhook, log: [] },
    ])
    expect(await bench.store.notices.find('evt_none')).toEqual([])
  })

  test('several are posted together or not at all', async () => {
    const [one, stray] = [aNotice(now()), aNotice(now(), { accountId: 'acct_none' })]
    await expect(bench.store.notices.post([one, stray], anAct())).rejects.toThrow()
    expect(await bench.store.notices.list({ limit: 9 })).toEqual([])
  })

  describe('a claim', () => {
    test('takes what is due, the longest due first, and at most so many', async () => {
      const soon = await post({ nextTryAt: later(now(), 1) })
      const second = await post()
      const first = await post({ nextTryAt: later(now(), -1) })
      await post({ state: 'delivered', nextTryAt: now() })
      await post({ state: 'dead', nextTryAt: null })
      expect(await claim(1)).toEqual([first])
      expect(await claim()).toEqual([second])
      bench.clock.advance(1)
      expect(await claim()).toEqual([soon])
      expect(await claim()).toEqual([])
    })

    test('keeps it from others until the lease ends, not a moment longer', async () => {
      const notice = await post()
      expect(await claim()).toEqual([notice])
      bench.clock.advance(LEASE_MS - 1)
      expect(await claim()).toEqual([])
      bench.clock.advance(1)
      expect(await claim()).toEqual([notice])
    })

    test('of twenty couriers at once gives each notice to one', async () => {
      const posted = await Promise.all(Array.from({ length: 30 }, () => post()))
      const claims = await Promise.all(Array.from({ length: 20 }, () => claim(2)))
      const taken = claims.flat().map(({ eventId }) => eventId)
      expect(taken.toSorted()).toEqual(posted.map(({ eventId }) => eventId).toSorted())
    })

    test('whose courier died is made again after a restart, at the latest when its lease has ended', async () => {
      const notice = await post()
      await claim()
      await bench.restart()
      bench.clock.advance(LEASE_MS)
      expect(await claim()).toEqual([notice])
    })
  })

  describe('after the clock was set back, there is due at once', () => {
    beforeEach(async () => {
      // The clock has been read before.
      await claim()
    })

    test('what was posted', async () => {
      const { eventId } = await post()
      bench.clock.advance(-DAY_MS)
      expect(await claim()).toMatchObject([{ eventId }])
      expect(await claim()).toEqual([])
    })

    test('what was leased, and what was to be tried again, once', async () => {
      const leased = await post()
      const failed = await post()
      await claim()
      const reset = aTry({ status: null, failure: 'reset' })
      await tried(failed, reset, 'pending', later(now(), 5_000))
      bench.clock.advance(-DAY_MS)
      const ids = (await claim()).map(({ eventId }) => eventId)
      expect(ids.toSorted()).toEqual([leased.eventId, failed.eventId].toSorted())
      await tried(failed, { ...reset, at: now() }, 'pending', later(now(), 300_000))
      await tried(leased, aTry(), 'delivered')
      await bench.restart()
      expect(await claim()).toEqual([])
    })

    test('also if that happened while nothing ran', async () => {
      const { eventId } = await post()
      bench.clock.advance(-DAY_MS)
      await bench.restart()
      expect(await claim()).toMatchObject([{ eventId }])
    })

    test('nothing where it was only a small step', async () => {
      const failed = await post()
      await claim()
      await tried(failed, aTry({ failure: 'reset' }), 'pending', later(now(), 5_000))
      bench.clock.advance(-60_000)
      expect(await claim()).toEqual([])
    })
  })

  describe('a try', () => {
    test('that failed is logged, and the notice waits for its next', async () => {
      const notice = await post()
      await claim()
      bench.clock.advance(15_000)
      const failed = aTry({ status: null, failure: 'timeout', ms: 15_000 })
      const nextTryAt = later(now(), 5_000)
      await tried(notice, failed, 'pending', nextTryAt)
      const after = { ...notice, tries: 1, nextTryAt }
      expect(await find(notice)).toEqual({ ...after, log: [failed] })
      expect(await claim()).toEqual([])
      bench.clock.advance(5_000)
      expect(await claim()).toEqual([after])
      const arrived = aTry()
      await tried(notice, arrived, 'delivered')
      await bench.restart()
      const end = { ...notice, tries: 2, state: 'delivered', nextTryAt: null }
      expect(await find(notice)).toEqual({ ...end, log: [failed, arrived] })
      bench.clock.advance(DAY_MS)
      expect(await claim()).toEqual([])
    })

    test('by one channel leaves the other alone', async () => {
      const webhook = await post()
      const email = await post({ eventId: webhook.eventId, channel: 'email' })
      await tried(email, aTry({ status: 250 }), 'delivered')
      expect(await find(webhook)).toEqual({ ...webhook, log: [] })
      expect(await claim()).toEqual([webhook])
    })

    test('that was the last ends it', async () => {
      const notice = await post()
      await tried(notice, aTry({ status: 410, failure: 'status' }), 'dead')
      expect(await find(notice)).toMatchObject({ state: 'dead', tries: 1, nextTryAt: null })
      expect(await claim()).toEqual([])
    })

    test('that was slower than another is logged, and what has arrived stays delivered', async () => {
      const notice = await post()
      await tried(notice, aTry(), 'delivered')
      await tried(notice, aTry({ failure: 'timeout' }), 'pending', now())
      expect(await find(notice)).toMatchObject({ state: 'delivered', log: [{}, {}] })
      expect(await claim()).toEqual([])
    })

    test('of a notice that was given up may still say that it arrived', async () => {
      const notice = await post()
      await tried(notice, aTry({ failure: 'refused' }), 'dead')
      await tried(notice, aTry({ failure: 'refused' }), 'pending', now())
      expect(await find(notice)).toMatchObject({ state: 'dead', nextTryAt: null })
      await tried(notice, aTry(), 'delivered')
      expect(await find(notice)).toMatchObject({ state: 'delivered' })
    })

    test('of what never was is refused', async () => {
      const { eventId } = await post()
      for (const stray of [aNotice(now()), aNotice(now(), { eventId, channel: 'email' })]) {
        await expect(tried(stray, aTry(), 'delivered')).rejects.toMatchObject({
          code: 'notice_not_found',
        })
      }
    })
  })

  test('one that is posted again is due again, with the body and the log it had', async () => {
    const notice = await post()
    const gone = aTry({ status: 410, failure: 'status' })
    await tried(notice, gone, 'dead')
    bench.clock.advance(DAY_MS)
    await post({ eventId: notice.eventId, body: '{}' })
    const again = { ...notice, nextTryAt: now() }
    expect(await find(notice)).toEqual({ ...again, log: [gone] })
    expect(await claim()).toEqual([again])
    const arrived = aTry()
    await tried(notice, arrived, 'delivered')
    expect(await find(notice)).toMatchObject({ tries: 1, log: [gone, arrived] })
  })

  test('one that is posted again is taken from the courier that has it', async () => {
    const notice = await post()
    await claim()
    await post({ eventId: notice.eventId })
    expect(await claim()).toEqual([notice])
  })

  test('a list is newest first and cut to what is asked', async () => {
    await bench.store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
    const first = await post()
    bench.clock.advance(1_000)
    const second = await post({ accountId: 'acct_2' })
    const third = await post({ state: 'dead', nextTryAt: null })
    const email = await post({ eventId: third.eventId, channel: 'email' })
    const list = (query: object) => bench.store.notices.list({ limit: 9, ...query })
    expect(await list({})).toEqual([email, third, second, first])
    expect(await list({ limit: 2 })).toEqual([email, third])
    expect(await list({ before: email })).toEqual([third, second, first])
    expect(await list({ before: third, limit: 1 })).toEqual([second])
    expect(await list({ before: first })).toEqual([])
    expect(await list({ accountId: 'acct_2' })).toEqual([second])
    expect(await list({ state: 'dead' })).toEqual([third])
    expect(await list({ accountId: 'acct_2', state: 'dead' })).toEqual([])
  })
}
