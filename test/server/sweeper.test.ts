// The sweeper: expired data is deleted in slices, requests run between them, and nothing else is deleted.

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { openStore } from '#db/index.ts'
import { type Clock, DAY_MS, HOUR_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NOTICE_KEPT_MS } from '#domain/notice.ts'
import { createSteadyClock } from '#domain/steady-clock.ts'
import { startSweeper } from '#server/sweeper.ts'
import { newSigninEvent } from '#signin/register/signin-event.ts'
import type { GatewayStore } from '#signin/store.ts'
import { aWrite } from '#test/db/contract/write-artifacts.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { findAnswer, keepAnswer } from '#test/support/keep-answer.ts'
import {
  aCharge,
  aClaim,
  aKey,
  aNotice,
  anAccount,
  anAct,
  anActivity,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'

const QUICK = { firstMs: 1, everyMs: 5, pauseMs: 0 }

let clock: HandClock
let store: GatewayStore
let key: ApiKey

beforeEach(async () => {
  clock = handClock('2026-08-22T12:00:00Z')
  store = await openStore({ dataDir: ':memory:', clock })
  onTestFinished(() => store.close())
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())
  key = aKey(clock.now())
  await store.keys.issue(key, 'if-x' as never, anAct())
})

/** Runs on this store until the end of the test. */
function sweep(
  activityKeptMs: number | null,
  { over = store, by = clock as Clock, pace = QUICK, logFault = (_cause: unknown) => {} } = {},
) {
  const sweeper = startSweeper({ store: over, clock: by, activityKeptMs, pace, logFault })
  onTestFinished(() => sweeper.stop())
  return sweeper
}

async function serve(requests: number): Promise<void> {
  const settled: Promise<boolean>[] = []
  for (let n = 0; n < requests; n++) {
    const claim = aClaim(key, clock.now(), usd('0'))
    await store.admissions.admit(claim)
    const charge = aCharge(usd('0.001'))
    const activity = anActivity(claim, { cost: charge.amount })
    settled.push(
      store.admissions.settle(claim.generationId, {
        answer: null,
        at: clock.now(),
        charge,
        activity,
      }),
    )
  }
  await Promise.all(settled)
}

/** One record of every kind that expires. */
async function leaveThings(): Promise<void> {
  const notice = aNotice(clock.now())
  await store.notices.post([notice], anAct())
  const attempt = { at: clock.now(), status: 204, failure: null, ms: 1 }
  const then = { state: 'delivered', nextTryAt: null } as const
  await store.notices.tried(notice.eventId, 'webhook', attempt, then)
  await keepAnswer(store, key, clock.now(), { body: new Uint8Array(1_000_000) })
  const event = newSigninEvent(clock.now(), { outcome: 'signed_in', address: '192.0.2.1' })
  await store.signin.artifacts.write(aWrite([], { events: [event] }))
}

const left = async () => ({
  lines: (await store.activity.list({ limit: 10_000 })).length,
  notices: (await store.notices.list({ limit: 9 })).length,
  events: (await store.signin.events.list({ limit: 9 })).length,
})

const soon = (condition: () => Promise<void>) =>
  vi.waitFor(condition, { interval: 5, timeout: 20_000 })

test('expired data is deleted; current data and all totals remain', async () => {
  await serve(3_000)
  clock.advance(2 * DAY_MS)
  await serve(5)
  const before = await store.audit()
  const usage = await store.admissions.usage(key.id, clock.now())
  sweep(DAY_MS)
  await soon(async () => expect(await left()).toMatchObject({ lines: 5 }))
  expect(await store.audit()).toEqual(before)
  expect(before.findings).toEqual([])
  expect(await store.admissions.usage(key.id, clock.now())).toEqual(usage)
})

test('data that expires while the sweeper runs is deleted by a later sweep', async () => {
  await leaveThings()
  const find = () => findAnswer(store, key, clock.now())
  let sweeps = 0
  const over: GatewayStore = {
    ...store,
    answers: {
      ...store.answers,
      trim: (...slice) => {
        sweeps++
        return store.answers.trim(...slice)
      },
    },
  }
  sweep(3 * DAY_MS, { over })
  await soon(async () => expect(sweeps).toBeGreaterThan(2))
  expect(await left()).toEqual({ lines: 1, notices: 1, events: 1 })
  expect(await find()).toBeDefined()
  clock.advance(DAY_MS)
  expect(await find()).toBeUndefined()
  clock.advance(2 * DAY_MS + 1_000)
  await soon(async () => expect(await left()).toEqual({ lines: 0, notices: 1, events: 0 }))
  clock.advance(NOTICE_KEPT_MS)
  await soon(async () => expect(await left()).toEqual({ lines: 0, notices: 0, events: 0 }))
  expect(await store.answers.trim(clock.now(), 9)).toBe(0)
})

test('an activity log without a retention period is kept; notices and stored answers are deleted all the same', async () => {
  await leaveThings()
  clock.advance(1_000 * DAY_MS)
  sweep(null)
  await soon(async () => expect(await left()).toEqual({ lines: 1, notices: 0, events: 1 }))
  expect(await store.activity.keptSince()).toBeNull()
})

test('a stop notes the time, so that a restart doubts only what lies between', async () => {
  const by = createSteadyClock(clock, null)
  const sweeper = sweep(null, { by, pace: { ...QUICK, everyMs: HOUR_MS } })
  await soon(async () => expect(await store.steadyTime.last()).toBe(clock.now()))
  clock.advance(HOUR_MS)
  await sweeper.stop()
  expect(await store.steadyTime.last()).toBe(clock.now())
})

test.each([
  ['with a restart', true],
  ['without a restart', false],
])(
  'T49: nothing is deleted by a clock that is a year ahead for a while, %s',
  async (_, restarts) => {
    await leaveThings()
    const find = () => findAnswer(store, key, clock.now())
    const steadyNow = async () => createSteadyClock(clock, await store.steadyTime.last())
    let by = await steadyNow()
    let sweeps = 0
    const over: GatewayStore = {
      ...store,
      answers: {
        ...store.answers,
        trim: (...slice) => {
          sweeps++
          return store.answers.trim(...slice)
        },
      },
    }
    const sweepTwice = async (): Promise<void> => {
      const before = sweeps
      const sweeper = sweep(3 * DAY_MS, { over, by })
      await soon(async () => expect(sweeps).toBeGreaterThan(before + 1))
      await sweeper.stop()
    }
    await sweepTwice()
    clock.step(400 * DAY_MS)
    if (restarts) by = await steadyNow()
    await sweepTwice()
    clock.advance(23 * HOUR_MS)
    await sweepTwice()
    expect(await left()).toEqual({ lines: 1, notices: 1, events: 1 })
    clock.step(-400 * DAY_MS)
    expect(await find()).toBeDefined()
    // The clock stays ahead: after a day it is believed.
    clock.step(400 * DAY_MS)
    await sweepTwice()
    clock.advance(DAY_MS)
    await sweepTwice()
    await sweepTwice()
    expect(await left()).toEqual({ lines: 0, notices: 0, events: 0 })
  },
)

test('requests run between two slices, and a slice is at most twice as large as the one before', async () => {
  await serve(2_000)
  clock.advance(2 * DAY_MS)
  const asked: number[] = []
  const turnsAt: number[] = []
  let turns = 0
  const counted: GatewayStore = {
    ...store,
    activity: {
      ...store.activity,
      async trim(before, limit) {
        asked.push(limit)
        turnsAt.push(turns)
        return await store.activity.trim(before, limit)
      },
    },
  }
  const turn = (): void => {
    turns++
    timer = setImmediate(turn)
  }
  let timer = setImmediate(turn)
  onTestFinished(() => clearImmediate(timer))
  sweep(DAY_MS, { over: counted, pace: { ...QUICK, pauseMs: 1 } })
  await soon(async () => expect(await left()).toMatchObject({ lines: 0 }))
  expect(asked[0]).toBe(16)
  for (const [index, limit] of asked.entries()) {
    expect(limit).toBeLessThanOrEqual(2 * (asked[index - 1] ?? 16))
    expect(turnsAt[index]).toBeGreaterThan(turnsAt[index - 1] ?? -1)
  }
})

test('a failure in one kind of data does not stop the others, and is retried', async () => {
  await leaveThings()
  clock.advance(NOTICE_KEPT_MS + 1_000)
  let broken = true
  const over: GatewayStore = {
    ...store,
    notices: {
      ...store.notices,
      trim: (...slice) =>
        broken ? Promise.reject(new Error('no way')) : store.notices.trim(...slice),
    },
  }
  const faults: unknown[] = []
  sweep(DAY_MS, { over, logFault: (cause) => faults.push(cause) })
  await soon(async () => expect(await left()).toEqual({ lines: 0, notices: 1, events: 0 }))
  expect(faults[0]).toMatchObject({ message: 'no way' })
  broken = false
  await soon(async () => expect(await left()).toEqual({ lines: 0, notices: 0, events: 0 }))
})

test('stopped in the middle it begins no further slice, and when idle it stops at once', async () => {
  await serve(500)
  clock.advance(2 * DAY_MS)
  const sweeper = sweep(DAY_MS, { pace: { ...QUICK, pauseMs: 20 } })
  await soon(async () => expect((await left()).lines).toBeLessThan(500))
  await sweeper.stop()
  const { lines } = await left()
  expect(lines).toBeGreaterThan(0)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(await left()).toMatchObject({ lines })
  const resting = sweep(DAY_MS, { pace: { ...QUICK, firstMs: 3_600_000 } })
  await resting.stop()
  expect(await left()).toMatchObject({ lines })
})
