// What the many keys of an account have spent is read in slices: others are served meanwhile, and not a charge is lost or won.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { DAY_MS, dayOf, later } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { anAccount, anAct } from '#test/support/nouns.ts'
import { openWindowStore, type WindowStore } from './window-store.ts'

/** Several slices of keys. */
const MANY = 600
const DAYS = 20
const SPENT = BigInt(MANY * DAYS)

/** Keys each of which has spent a nano-dollar on each of some days before today. */
async function openMany() {
  const deps = await openWindowStore()
  const today = dayOf(deps.clock.now())
  const keys: ApiKey[] = []
  for (let n = 0; n < MANY; n++) keys.push(await deps.issue())
  await deps.close()
  const database = new Database(join(deps.dataDir, DATABASE_FILE))
  database.run(
    `WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day + 1 < ?2)
     INSERT INTO key_days (key_id, day, spent_nanos, requests) SELECT id, day, 1, 1 FROM keys CROSS JOIN days`,
    [today - DAYS, today],
  )
  database.close()
  await deps.restart()
  return { deps, keys }
}

/** Its sums are to be read: one that were of money would read them itself, to tell of its marks. */
const limit = ({ store, clock }: WindowStore) =>
  store.accounts.amend('acct_1', { limits: { concurrency: MANY } }, anAct(clock.now()))

/** Of its day and its month. */
async function spent({ store, clock }: WindowStore): Promise<readonly unknown[]> {
  const [use] = await store.admissions.accountUse(['acct_1'], clock.now())
  return [use?.spendDay, use?.spendMonth]
}

async function openOther({ store }: WindowStore): Promise<void> {
  await store.accounts.create(anAccount({ id: 'acct_2', name: 'other' }), anAct())
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('others have their turns meanwhile', async () => {
  const { deps, keys } = await openMany()
  await limit(deps)
  await openOther(deps)
  const other = await deps.issue()
  await deps.store.keys.move(other.id, 'acct_2', anAct())
  let isRead = false
  const reading = deps.begin(keys[0] as ApiKey).finally(() => {
    isRead = true
  })
  let turns = 0
  for (; !isRead; turns++) {
    await deps.store.admissions.judge({ ...deps.claim(other), accountId: 'acct_2' })
    await turn()
  }
  await reading
  // One for each slice.
  expect(turns).toBeGreaterThanOrEqual(3)
})

test('requests that end meanwhile are counted once', async () => {
  const { deps, keys } = await openMany()
  // By turns of the key that is read last, and of the one that is read first.
  const byId = keys.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const ends = Array.from({ length: 30 }, (_, n) => byId.at(n % 2 === 0 ? -1 - n : n) as ApiKey)
  const running = await Promise.all(ends.map((key) => deps.begin(key)))
  await limit(deps)
  const reading = spent(deps)
  for (const claim of running) await deps.settle(claim)
  await reading
  const ended = BigInt(running.length)
  expect(await spent(deps)).toEqual([ended, SPENT + ended])
})

test('a key that is moved away meanwhile, back, and away once more leaves what it has spent', async () => {
  const { deps, keys } = await openMany()
  const [key] = keys.toSorted((one, other) => (one.id < other.id ? 1 : -1))
  if (key === undefined) throw new Error('there is no key')
  await openOther(deps)
  await limit(deps)
  for (const to of ['acct_2', 'acct_1', 'acct_2'] as const) {
    const reading = spent(deps)
    await turn()
    await deps.store.keys.move(key.id, to, anAct(deps.clock.now()))
    expect(await reading).toEqual([0n, SPENT])
    expect(await spent(deps)).toEqual([0n, SPENT])
    await deps.restart()
  }
  expect(await spent(deps)).toEqual([0n, SPENT])
})

test('what a request of a moved key costs counts where it was admitted, also while its sums are read', async () => {
  const { deps, keys } = await openMany()
  const [key] = keys.toSorted((one, other) => (one.id < other.id ? 1 : -1))
  if (key === undefined) throw new Error('there is no key')
  await openOther(deps)
  await deps.store.accounts.amend('acct_2', { limits: { concurrency: 9 } }, anAct())
  const running = [await deps.begin(key), await deps.begin(key)] as const
  await deps.store.keys.move(key.id, 'acct_2', anAct(deps.clock.now()))
  await limit(deps)
  const reading = spent(deps)
  await turn()
  await deps.settle(running[0])
  expect(await reading).toEqual([1n, SPENT + 1n])
  await deps.settle(running[1])
  const [other] = await deps.store.admissions.accountUse(['acct_2'], deps.clock.now())
  expect([await spent(deps), other?.spendMonth]).toEqual([[2n, SPENT + 2n], 0n])
  await deps.restart()
  expect(await spent(deps)).toEqual([2n, SPENT + 2n])
})

test('at midnight its day begins anew, and its month goes on, also with requests that are in progress', async () => {
  const { deps, keys } = await openMany()
  await limit(deps)
  const [key] = keys
  if (key === undefined) throw new Error('there is no key')
  await deps.serveAll(key, 2)
  const running = await deps.begin(key)
  deps.clock.advance(DAY_MS)
  const reading = spent(deps)
  await deps.settle(running)
  expect(await reading).toEqual([0n, SPENT + 3n])
  await deps.serveAll(key, 4)
  expect(await spent(deps)).toEqual([4n, SPENT + 7n])
  deps.clock.advance(14 * DAY_MS)
  expect(await spent(deps)).toEqual([0n, 0n])
})

test('a log that lies ahead of the clock is read to its first request', async () => {
  const deps = await openWindowStore()
  const key = await deps.issue()
  const begun = deps.clock.now()
  // More than a slice.
  for (let second = 0; second < 25; second++) {
    await deps.serveAll(key, 100)
    deps.clock.advance(1_000)
  }
  deps.clock.set(later(begun, -3 * DAY_MS))
  await deps.store.accounts.amend('acct_1', { limits: { rpm: 50 } }, anAct(deps.clock.now()))
  expect(await deps.serve(key, 60)).toBe(50)
  // Those of the log are in its window from their instant on.
  deps.clock.set(later(begun, 1))
  expect(await deps.serve(key, 1)).toBe(0)
})
