// Reports from sums of days that are kept in memory and go on with the log: the same as from the log, whatever is written meanwhile,
// ends late, is removed, or was noted while the clock was wrong.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { connect } from '#db/sqlite/engine/connection.ts'
import { isWaiting, startGroupCommit } from '#db/sqlite/engine/group-commit.ts'
import { openLateLines } from '#db/sqlite/engine/late-lines.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { openUsageDays } from '#db/sqlite/log/usage-days.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, dayOf, HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { USAGE_DIMENSIONS, type UsageQuery } from '#domain/usage-report.ts'
import { fillLog } from '#test/cabinet/fill-log.ts'
import { until } from '#test/support/appliance.ts'
import { aCharge, anActivity, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { setBench } from './contract/bench.ts'

let dataDir = ''
const bench = setBench((clock) => {
  dataDir = tempDirectory()
  return openStore({ dataDir, clock })
})

let one: ApiKey
let other: ApiKey
let first: Instant

beforeEach(async () => {
  one = (await bench.issue()).key
  other = (await bench.issue()).key
  first = (dayOf(bench.clock.now()) * DAY_MS) as Instant
})

/** From the beginning of the first day. */
const report = (stated: Partial<UsageQuery> = {}) =>
  bench.store.activity.usage({ by: 'key', thenBy: null, top: 100, since: first, ...stated })
/** The same from the log alone: without a beginning there is no day to begin with. */
const fromLog = (stated: Partial<UsageQuery> = {}) =>
  bench.store.activity.usage({ by: 'key', thenBy: null, top: 100, ...stated })
const requestsOf = async (stated: Partial<UsageQuery> = {}) => (await report(stated)).total.requests

const serve = async (key: ApiKey, model: string, endUser: string | null) => {
  const { claim } = await bench.admit(key)
  const charge = aCharge(usd('0.01'))
  const cost = { cost: charge.amount, costRub: charge.costRub }
  const activity = anActivity(claim, { ...cost, model, provider: null, endUser })
  const at = bench.clock.now()
  await bench.store.admissions.settle(claim.generationId, { answer: null, at, charge, activity })
}

test('every way of grouping is the same from what is kept as from the log', async () => {
  for (let n = 0; n < 12; n++) {
    await serve(n % 2 === 0 ? one : other, `m/${n % 3}`, n % 4 === 0 ? null : `u_${n % 4}`)
    bench.clock.advance(9 * HOUR_MS)
  }
  for (const by of USAGE_DIMENSIONS) {
    for (const thenBy of [null, ...USAGE_DIMENSIONS]) {
      if (thenBy === by) continue
      const expected = await fromLog({ by, thenBy })
      expect(expected.total.requests).toBe(12)
      // What it adds up itself, and then what it has kept.
      for (let n = 0; n < 2; n++) expect(await report({ by, thenBy })).toEqual(expected)
    }
  }
  // From and to the middle of days.
  const [since, before] = [later(first, 17 * HOUR_MS), later(first, 83 * HOUR_MS)]
  const part = { by: 'model', thenBy: 'day', until: before } as const
  expect(await report({ ...part, since })).toEqual(
    await fromLog({ ...part, since: later(since, 1) }),
  )
})

test('of the groups only those that are asked for, from what is kept and from the log', async () => {
  for (let n = 0; n < 8; n++) {
    await serve(one, `m/${n % 4}`, n % 2 === 0 ? null : 'u_1')
    bench.clock.advance(7 * HOUR_MS)
  }
  const rows = async (stated: Partial<UsageQuery>) =>
    (await report({ by: 'day', ...stated })).rows.map((row) => [row.thenBy, row.requests])
  for (let n = 0; n < 2; n++) {
    const models = await rows({ thenBy: 'model', among: ['m/1', 'm/3'] })
    expect(models.filter(([model]) => model === 'm/1')).toHaveLength(2)
    expect(new Set(models.map(([model]) => model))).toEqual(new Set(['m/1', 'm/3']))
    expect(new Set((await rows({ thenBy: 'user', among: [null] })).map(([user]) => user))).toEqual(
      new Set([null]),
    )
    const [first, second] = await Promise.all([
      report({ by: 'day', thenBy: 'model', among: ['m/0'] }),
      fromLog({ by: 'day', thenBy: 'model', among: ['m/0'] }),
    ])
    expect(first).toEqual(second)
    expect(first.total.requests).toBe(2)
  }
})

test('what was admitted on a day and ends later is of that day, once it has ended', async () => {
  await serve(one, 'm/1', null)
  const { claim } = await bench.admit(one)
  const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
  const held = () => database.query<{ n: number }, []>('SELECT count(*) n FROM holds').get()?.n
  await until(() => held() === 1, 'the hold is written')
  database.close()
  bench.clock.advance(3 * DAY_MS)
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(1)
  await bench.settle(claim, '0.02')
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(2)
})

test('what is no longer kept is in no report', async () => {
  await serve(one, 'm/1', null)
  bench.clock.advance(2 * DAY_MS)
  await serve(one, 'm/1', null)
  bench.clock.advance(2 * DAY_MS)
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(2)
  expect(await bench.store.activity.trim(later(first, DAY_MS), 10)).toBe(1)
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(1)
})

test('what is noted on a day that was over, while the clock is wrong, is there when it is right again', async () => {
  await serve(one, 'm/1', null)
  bench.clock.advance(3 * DAY_MS)
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(1)
  bench.clock.step(-3 * DAY_MS)
  await serve(one, 'm/1', null)
  bench.clock.step(3 * DAY_MS)
  for (let n = 0; n < 2; n++) expect(await requestsOf()).toBe(2)
})

test('a member’s own are kept apart from those of the account, and of another', async () => {
  const mine = (await bench.issue({}, { madeBy: 'usr_one' })).key
  await serve(mine, 'm/1', null)
  await serve(one, 'm/1', null)
  bench.clock.advance(2 * DAY_MS)
  for (let n = 0; n < 2; n++) {
    expect(await requestsOf({ madeBy: 'usr_one' })).toBe(1)
    expect(await requestsOf({ madeBy: 'usr_two' })).toBe(0)
    expect(await requestsOf({ accountId: 'acct_1' })).toBe(2)
    expect(await requestsOf({ accountId: 'acct_2' })).toBe(0)
  }
})

test('whatever is written between two looks, or while one goes on, is in the next, once', async () => {
  const claims: Claim[] = []
  const expected = async (requests: number) => {
    const whole = await report({ by: 'key', thenBy: 'model' })
    expect(whole.total.requests).toBe(requests)
    expect(whole).toEqual(await fromLog({ by: 'key', thenBy: 'model' }))
    expect(await report({ by: 'day' })).toEqual(await fromLog({ by: 'day' }))
  }
  for (let n = 0; n < 20; n++) {
    claims.push((await bench.admit(n % 3 === 0 ? one : other)).claim)
    bench.clock.advance(1_000)
  }
  fillLog(dataDir, one.id, bench.clock.now(), 5_000)
  bench.clock.advance(1_000)
  await expected(5_000)
  // Each ends behind lines that were added up, while another look goes on.
  for (const [n, claim] of claims.entries()) {
    if (n === 10) fillLog(dataDir, other.id, later(bench.clock.now(), n), 5_000)
    const looks = [report(), report({ by: 'model' }), report({ by: 'user' })]
    await bench.settle(claim, '0.02')
    await Promise.all(looks)
    await serve(one, `m/${n % 3}`, null)
    bench.clock.advance(500)
    await expected(5_000 * (n < 10 ? 1 : 2) + 2 * (n + 1))
  }
})

test('a report has all its days, though another that begins later lets go of some', async () => {
  for (let n = 0; n < 6; n++) {
    fillLog(dataDir, one.id, bench.clock.now(), 18_000)
    bench.clock.advance(DAY_MS)
  }
  const look = (day: number) =>
    requestsOf({ by: 'user', thenBy: 'day', since: later(first, day * DAY_MS) })
  expect(await look(0)).toBe(6 * 18_000)
  expect(await Promise.all([look(0), look(4)])).toEqual([6 * 18_000, 2 * 18_000])
})

test('a report that failed halfway leaves nothing behind that the next would count twice', async () => {
  await serve(one, 'm/1', null)
  expect(await requestsOf()).toBe(1)
  for (const user of ['u_1', 'u_2', 'u_3']) await serve(one, 'm/1', user)
  const database = new Database(join(dataDir, DATABASE_FILE))
  // The last line has a cost that cannot be read.
  database.run('ALTER TABLE activity RENAME COLUMN cost_nanos TO sound')
  database.run(`ALTER TABLE activity ADD COLUMN cost_nanos ANY AS (
    CASE end_user WHEN 'u_3' THEN 1.5 ELSE sound END)`)
  await expect(report()).rejects.toThrow()
  database.run('ALTER TABLE activity DROP COLUMN cost_nanos')
  database.run('ALTER TABLE activity RENAME COLUMN sound TO cost_nanos')
  database.close()
  expect(await requestsOf()).toBe(4)
})

describe('in memory', () => {
  const bench = setBench((clock) => openStore({ dataDir: ':memory:', clock }))

  test('what is written while the log is added up for the first time is there', async () => {
    const { key } = await bench.issue()
    const { claim } = await bench.admit(key)
    for (let n = 0; n < 1_500; n++) {
      bench.clock.advance(1)
      await bench.spend(key, '0.001')
    }
    const since = (dayOf(bench.clock.now()) * DAY_MS) as Instant
    const look = () => bench.store.activity.usage({ by: 'key', thenBy: null, top: 9, since })
    const early = look()
    await new Promise(setImmediate)
    await bench.settle(claim, '0.001')
    await early
    expect((await look()).total.requests).toBe(1_501)
  })
})

describe('late lines', () => {
  const MAX = 20_000
  const open = () => {
    const commit = startGroupCommit(new Database(':memory:'), NO_LOG_SYNC)
    const late = openLateLines(commit)
    const write = (...ids: string[]) => {
      for (const id of ids) commit.push(late.note, id)
      commit.flush()
    }
    return { commit, late, write }
  }

  test('of more than are kept, whoever has not seen them learns of it', () => {
    const { late, write } = open()
    const seen = late.end
    write('gen-1')
    expect(late.after(seen)).toEqual([])
    late.watch('gen-5')
    write('gen-4', 'gen-6', 'gen-2')
    expect(late.after(seen)).toEqual(['gen-4', 'gen-2'])
    late.forget(seen + 1)
    expect(late.after(seen)).toBeNull()
    expect(late.after(seen + 1)).toEqual(['gen-2'])
    const full = late.end
    write(...Array.from({ length: MAX }, () => 'gen-3'))
    expect(late.after(seen + 1)).toBeNull()
    expect(late.after(late.end)).toEqual([])
    // Of the newer half nothing is lost.
    expect(late.after(full)).toBeNull()
    expect(late.after(full + MAX / 2)).toHaveLength(MAX / 2)
  })

  test('count when they are committed, once', async () => {
    const { commit, late, write } = open()
    late.watch('gen-5')
    // The faulty one takes the others of its group back, which are then written one by one.
    const faulty = commit.push(() => BigInt(1.5), '')
    write('gen-1', 'gen-2')
    expect(() => isWaiting(faulty)).toThrow(RangeError)
    expect(late.after(0)).toEqual(['gen-1', 'gen-2'])
  })

  test('are not kept for whoever looked once, and whoever looks on does not begin anew', async () => {
    fillLog(dataDir, one.id, bench.clock.now(), 3)
    const database = openDatabase(join(dataDir, DATABASE_FILE))
    const rest = { clock: bench.clock, vault: null, syncCharges: false }
    const { commit, lateLines, ...connection } = connect(database, NO_LOG_SYNC, rest)
    const days = openUsageDays({ commit, lateLines, ...connection })
    const today = dayOf(first)
    const look = async (by: 'key' | 'model') => {
      const names = { by, thenBy: null, accountId: undefined, madeBy: undefined }
      return (await days.from(names, today)).get(today)
    }
    const [once, often] = [await look('model'), await look('key')]
    expect(once?.total.requests).toBe(3)
    for (let n = 0; n < 5 * MAX; n += MAX / 4) {
      for (let late = 0; late < MAX / 4; late++) commit.push(lateLines.note, 'gen-0')
      commit.flush()
      expect(await look('key')).toBe(often)
    }
    expect(lateLines.forgotten).toBe(lateLines.end)
    expect(await look('model')).not.toBe(once)
    database.close()
  })
})
