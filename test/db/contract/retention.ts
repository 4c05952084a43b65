/** What every engine promises about removing what is no longer kept: a slice at a time, and nothing that anybody reckons with. */

import { describe, expect, test } from 'vitest'
import { DAY_MS, later, MINUTE_MS } from '#domain/clock.ts'
import { KEPT_MS } from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import { NOTICE_KEPT_MS, type Notice } from '#domain/notice.ts'
import { admitClaim } from '#test/support/admit.ts'
import { aRepeat, findAnswer, keepAnswer } from '#test/support/keep-answer.ts'
import { aClaim, aNotice, anAct, anActivity, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'
import { readWhole } from './read-whole.ts'

export function retentionContract(bench: Bench): void {
  describe('the log', () => logContract(bench))
  describe('kept answers', () => answersContract(bench))
  describe('notices', () => noticesContract(bench))
}

function logContract(bench: Bench): void {
  const activity = () => bench.store.activity
  const now = () => bench.clock.now()
  const ids = async () =>
    (await activity().list({ limit: 99 })).map(({ generationId }) => generationId)

  test('loses what ended before an instant, the oldest first, and no more than is asked', async () => {
    const { key } = await bench.issue()
    const claims = []
    for (let n = 0; n < 5; n++) {
      claims.push(await bench.spend(key, '0.1'))
      bench.clock.advance(1_000)
    }
    const before = later(now(), -1_000)
    expect(await activity().trim(before, 2)).toBe(2)
    expect(await ids()).toEqual(
      claims
        .slice(2)
        .map((claim) => claim.generationId)
        .reverse(),
    )
    expect(await activity().trim(before, 2)).toBe(2)
    expect(await activity().trim(before, 2)).toBe(0)
    expect(await ids()).toEqual([claims[4]?.generationId])
    expect(await activity().find(claims[0]?.generationId ?? 'gen-')).toBeUndefined()
  })

  test('tells since when it is whole; also after a restart, and never less than before', async () => {
    const { key } = await bench.issue()
    await bench.spend(key, '0.1')
    bench.clock.advance(1_000)
    expect(await activity().trim(later(now(), -1_000), 9)).toBe(0)
    expect(await activity().keptSince()).toBeNull()
    const since = now()
    expect(await activity().trim(since, 9)).toBe(1)
    expect(await activity().keptSince()).toBe(since)
    activity().note(anActivity(aClaim(key, later(since, -DAY_MS))))
    await activity().list({ limit: 1 })
    expect(await activity().trim(later(since, -1_000), 9)).toBe(1)
    await bench.restart()
    expect(await activity().keptSince()).toBe(since)
  })

  test('goes by the end of a request, to the millisecond, however early it came', async () => {
    const { key } = await bench.issue()
    const claim = aClaim(key, now())
    activity().note(anActivity(claim, { totalMs: 5 * DAY_MS }))
    await activity().list({ limit: 1 })
    expect(await activity().trim(later(now(), 5 * DAY_MS), 9)).toBe(0)
    expect(await activity().trim(later(now(), 5 * DAY_MS + 1), 9)).toBe(1)
  })

  test('keeps a request that has run for longer than anything is kept', async () => {
    const { key } = await bench.issue({ concurrency: 1 })
    const { claim } = await bench.admit(key)
    bench.clock.advance(3 * DAY_MS)
    expect(await activity().trim(later(now(), -DAY_MS), 9)).toBe(0)
    expect((await bench.admit(key)).refusal?.limit).toBe('concurrency_limit')
    const stated = { cost: usd('0.01'), totalMs: 3 * DAY_MS }
    const line = anActivity(claim, stated)
    await bench.store.admissions.settle(claim.generationId, {
      answer: null,
      at: now(),
      charge: null,
      activity: line,
    })
    expect(await activity().trim(later(now(), -DAY_MS), 9)).toBe(0)
    expect(await activity().find(claim.generationId)).toEqual(line)
    expect((await bench.store.audit()).findings).toEqual([])
  })

  test('takes no money, no sum and no slot of a window with it, also after a restart', async () => {
    const { key } = await bench.issue({ rpm: 9, rpd: 9, dailySpend: usd('5'), endUserRpm: 9 })
    const pace = [3 * DAY_MS, DAY_MS - MINUTE_MS, MINUTE_MS / 2, MINUTE_MS / 2 - 1]
    for (const ms of pace) {
      await spendAs(bench, key, 'ann', '0.1')
      await bench.spend(key, '0.2')
      bench.clock.advance(ms)
    }
    const before = await books(bench, key)
    expect(await activity().trim(later(now(), -DAY_MS), 99)).toBe(2)
    expect(await books(bench, key)).toEqual(before)
    await bench.store.admissions.trim(now())
    expect(await books(bench, key)).toEqual(before)
    await bench.restart()
    expect(await books(bench, key)).toEqual(before)
    expect(before.usage).toMatchObject({ requestsDay: 6, requestsMinute: 4 })
    expect(before.balance).toBe(usd('98.8'))
    expect(before.findings).toEqual([])
    expect((await bench.store.health({ checkIntegrity: true })).integrityFindings).toEqual([])
  })

  test('is added up without what is gone, and the ledger has it still', async () => {
    const { key } = await bench.issue()
    const old = await bench.spend(key, '0.1')
    bench.clock.advance(2 * DAY_MS)
    await bench.spend(key, '0.2')
    await activity().trim(later(now(), -DAY_MS), 9)
    const { total } = await activity().usage({ by: 'key', thenBy: null, top: 9 })
    expect(total).toMatchObject({ requests: 1, cost: usd('0.2') })
    expect(await bench.store.ledger.list({ kind: 'charge', limit: 9 })).toHaveLength(2)
    expect((await bench.store.ledger.chargeOf(old.generationId))?.amount).toBe(usd('-0.1'))
    // Nobody is charged again for what the log has forgotten.
    expect(await bench.settle(old, '0.1')).toBe(false)
  })
}

async function spendAs(bench: Bench, key: ApiKey, endUser: string, amount: string): Promise<void> {
  const claim = { ...aClaim(key, bench.clock.now(), usd(amount)), endUser }
  const { admitted } = await admitClaim(bench.store.admissions, claim)
  if (!admitted) throw new Error('not admitted')
  await bench.settle(claim, amount)
}

/** Everything that is reckoned with. */
async function books(bench: Bench, key: ApiKey) {
  const { admissions, accounts, ledger } = bench.store
  const at = bench.clock.now()
  const { findings, entries, keyDays, endUserDays } = await bench.store.audit()
  return {
    usage: await admissions.usage(key.id, at),
    quota: await admissions.quota([key.id], at),
    balance: (await accounts.find('acct_1'))?.balance,
    ledger: await ledger.list({ limit: 99 }),
    ...{ findings, entries, keyDays, endUserDays },
  }
}

function answersContract(bench: Bench): void {
  const keep = (key: ApiKey, name: string, bytes: number) =>
    keepAnswer(bench.store, key, bench.clock.now(), {
      repeat: aRepeat(name),
      body: new Uint8Array(bytes),
    })
  const answers = () => bench.store.answers

  test('go when their day is over, not a moment before, piece by piece', async () => {
    const { key } = await bench.issue()
    await keep(key, 'long', 1_000_000)
    await keep(key, 'short', 10)
    bench.clock.advance(1)
    await keep(key, 'later', 10)
    bench.clock.advance(KEPT_MS - 2)
    const trim = (limit: number) => answers().trim(bench.clock.now(), limit)
    expect(await trim(99)).toBe(0)
    bench.clock.advance(1)
    expect(await trim(1)).toBe(1)
    const found = (name: string) => findAnswer(bench.store, key, bench.clock.now(), aRepeat(name))
    expect(await found('long')).toBeUndefined()
    let gone = 1
    for (;;) {
      const some = await trim(2)
      expect(some).toBeLessThanOrEqual(2)
      gone += some
      if (some < 2) break
    }
    // As many as there are, whatever an engine calls a piece.
    expect(gone).toBeGreaterThanOrEqual(2)
    expect(await trim(99)).toBe(0)
    expect((await found('later'))?.bytes).toBe(10)
  })

  test('leave their room and their name to others, from the middle on too', async () => {
    const { key } = await bench.issue()
    await keep(key, 'a', 1_000_000)
    bench.clock.advance(KEPT_MS)
    await answers().trim(bench.clock.now(), 1)
    const again = await keep(key, 'a', 20)
    const found = async () =>
      await readWhole(
        answers(),
        await findAnswer(bench.store, key, bench.clock.now(), aRepeat('a')),
      )
    expect(await found()).toEqual(again)
    // What is left of the first.
    await answers().trim(bench.clock.now(), 99)
    expect(await answers().trim(bench.clock.now(), 99)).toBe(0)
    expect(await found()).toEqual(again)
  })
}

function noticesContract(bench: Bench): void {
  const now = () => bench.clock.now()
  const notices = () => bench.store.notices
  const end = async ({ eventId, channel }: Notice, state: 'delivered' | 'dead' = 'delivered') => {
    const attempt = { at: now(), status: 204, failure: null, ms: 1 }
    await notices().tried(eventId, channel, attempt, { state, nextTryAt: null })
  }
  const post = async (stated: Partial<Notice> = {}): Promise<Notice> => {
    const notice = aNotice(now(), stated)
    await notices().post([notice], anAct())
    return notice
  }
  const trim = (limit = 9) => notices().trim(later(now(), -NOTICE_KEPT_MS), limit)
  const left = async () => (await notices().list({ limit: 9 })).map(({ eventId }) => eventId)

  test('that have ended are kept for their time after their last try', async () => {
    const [arrived, dead, pending] = [await post(), await post(), await post()]
    bench.clock.advance(1_000)
    await end(arrived)
    await end(dead, 'dead')
    bench.clock.advance(NOTICE_KEPT_MS)
    expect(await trim()).toBe(0)
    bench.clock.advance(1)
    expect(await trim(1)).toBe(1)
    expect(await trim(1)).toBe(1)
    expect(await trim(1)).toBe(0)
    expect(await left()).toEqual([pending.eventId])
    expect(await notices().find(arrived.eventId)).toEqual([])
    await end(pending)
    expect(await trim()).toBe(0)
    expect(await notices().find(pending.eventId)).toMatchObject([{ log: [{}] }])
  })

  test('that were sent again are kept anew, by channel', async () => {
    const webhook = await post()
    const email = await post({ eventId: webhook.eventId, channel: 'email' })
    await end(webhook)
    await end(email)
    bench.clock.advance(NOTICE_KEPT_MS + 1)
    await post({ eventId: webhook.eventId })
    await end(webhook)
    expect(await trim()).toBe(1)
    expect(await notices().find(webhook.eventId)).toMatchObject([{ channel: 'webhook' }])
  })
}
