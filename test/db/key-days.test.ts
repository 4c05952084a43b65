// The sums of a key's days lie in two tables and go from the one to the other: wherever they lie, each request is in them once.
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '#db/sqlite/engine/connection.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { prepareDaySpends } from '#db/sqlite/money/day-spends.ts'
import { prepareSpendReader } from '#db/sqlite/money/spend-reader.ts'
import { openKeyDays } from '#db/sqlite/money/sums.ts'
import { createStore } from '#db/sqlite/store.ts'
import { type Day, dayOf } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aKey, anAccount, anAct, anOwner } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'

const clock = handClock('2026-08-22T12:00:00Z')
const MONTH = dayOf(handClock('2026-08-01T00:00:00Z').now())
const DAYS = 31
const RUNS = FULL ? 60 : 10

interface Added {
  readonly key: number
  /** Of the month. */
  readonly day: number
  readonly spent: number
}

/** A database of so many keys, and what was added to it. */
async function open(keys: number, bounds: Parameters<typeof openKeyDays>[1]) {
  const path = join(tempDirectory(), 'gateway.db')
  const ids: KeyId[] = []
  const added: Added[] = []

  const reopen = () => {
    const database = openDatabase(path)
    migrate(database, path)
    const rest = { clock, vault: null, syncCharges: false }
    const connection = connect(database, NO_LOG_SYNC, rest)
    return {
      database,
      connection,
      keyDays: openKeyDays(connection, bounds),
      readSpend: prepareSpendReader(connection),
      spendByDay: prepareDaySpends(connection),
    }
  }
  let now = reopen()
  let isOpen = true
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    now.connection.commit.close()
    now.database.close(true)
  }
  onTestFinished(close)
  const store = createStore(now.connection, path, { owner: anOwner(), at: clock.now() }, () => {})
  await store.accounts.create(anAccount(), anAct())
  for (let n = 0; n < keys; n++) {
    const key = aKey(clock.now())
    await store.keys.issue(key, `if-${key.id}` as never, anAct())
    ids.push(key.id)
  }

  const sumOf = (some: readonly Added[]): bigint =>
    BigInt(some.reduce((sum, { spent }) => sum + spent, 0))
  const count = (table: string): number =>
    (now.database.query(`SELECT count(*) AS sums FROM ${table}`).get() as { sums: number }).sums

  const deps = {
    close,
    restart(): void {
      close()
      now = reopen()
      isOpen = true
    },
    /** All in one transaction. */
    add: (...some: readonly Added[]): Promise<void> =>
      now.connection.commit.enqueue(() => {
        for (const { key, day, spent } of some) {
          now.keyDays.add(ids[key] as KeyId, (MONTH + day) as Day, BigInt(spent) as UsdNanos, 1)
        }
        added.push(...some)
      }),
    /** Every way to read them, beside what was added. */
    async expectSums(): Promise<void> {
      for (const [key, id] of ids.entries()) {
        const ofKey = added.filter((one) => one.key === key)
        expect(now.readSpend(id, (MONTH + 3) as Day, MONTH)).toEqual({
          day: sumOf(ofKey.filter(({ day }) => day === 3)),
          month: sumOf(ofKey),
        })
      }
      expect(now.readSpend(null, (MONTH + 3) as Day, MONTH)).toEqual({
        day: sumOf(added.filter(({ day }) => day === 3)),
        month: sumOf(added),
      })
      const then = [...added]
      const days = await now.spendByDay(MONTH)
      expect(days.map(({ day, spent, requests }) => ({ day, spent, requests }))).toEqual(
        Array.from({ length: DAYS }, (_, day) => then.filter((one) => one.day === day)).flatMap(
          (some, day) =>
            some.length === 0
              ? []
              : [{ day: MONTH + day, spent: sumOf(some), requests: some.length }],
        ),
      )
    },
    recent: () => count('key_days'),
    resting: () => count('resting_key_days'),
  }
  return deps
}

test('whatever is added, put to rest and added again is in the sums once', async () => {
  const one = fc.record({
    key: fc.nat(3),
    // Few, so that parts of one sum come to lie in both tables.
    day: fc.constantFrom(0, 3, 30),
    spent: fc.integer({ min: 0, max: 1e9 }),
  })
  const act = fc.oneof(
    { weight: 6, arbitrary: fc.array(one, { minLength: 1, maxLength: 6 }) },
    { weight: 2, arbitrary: fc.constant('pass' as const) },
    { weight: 1, arbitrary: fc.constantFrom('look' as const, 'restart' as const) },
  )
  let everResting = 0
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 40 }), async (script) => {
      const deps = await open(4, { mostRecent: 5, checkAfter: 4, restRows: 3 })
      for (const what of script) {
        if (what === 'pass') await nextTurn()
        else if (what === 'look') await deps.expectSums()
        else if (what === 'restart') deps.restart()
        else await deps.add(...what)
      }
      await deps.expectSums()
      everResting += deps.resting()
      deps.close()
    }),
    { numRuns: RUNS },
  )
  expect(everResting).toBeGreaterThan(RUNS)
}, 60_000)

test('those that changed lately stay few, and stay together while they are', async () => {
  const deps = await open(3, { mostRecent: 80, checkAfter: 20, restRows: 10 })
  const all = Array.from({ length: 3 * DAYS }, (_, n) => ({
    key: n % 3,
    day: Math.floor(n / 3),
    spent: n,
  }))
  await deps.add(...all.slice(0, 80))
  await nextTurn()
  await nextTurn()
  expect([deps.recent(), deps.resting()]).toEqual([80, 0])
  await deps.add(...all.slice(80))
  // Others are added to what is being put to rest, at its beginning and its end.
  while (deps.resting() < 3 * DAYS) {
    await deps.add(all[0] as Added, all.at(-1) as Added)
    await deps.expectSums()
    await nextTurn()
  }
  expect(deps.recent()).toBeLessThan(20)
  await deps.expectSums()
})

test('what was begun is left where it is when the gateway closes', async () => {
  const deps = await open(3, { mostRecent: 20, checkAfter: 20, restRows: 5 })
  await deps.add(
    ...Array.from({ length: 60 }, (_, n) => ({ key: n % 3, day: Math.floor(n / 3), spent: n })),
  )
  while (deps.resting() === 0) await nextTurn()
  deps.restart()
  await nextTurn()
  expect(deps.recent()).toBeGreaterThan(0)
  expect(deps.recent() + deps.resting()).toBe(60)
  await deps.expectSums()
})
