// The log in PostgreSQL is a table for each day: made ahead, dropped as a whole, and exact wherever a line ends up.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import { MIGRATIONS, NEWEST_VERSION, SEARCH_PATH } from '#db/postgres/engine/versions.ts'
import { dropDays, makeDaysAhead, makeDaysOf } from '#db/postgres/log/days.ts'
import { openPostgres } from '#db/postgres/store.ts'
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, dayOf, dayStart, type Instant, later, systemClock } from '#domain/clock.ts'
import { newGenerationId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { GatewayStore } from '#signin/store.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { claimAt, issue, openNode, openTables, settle } from '#test/support/nodes.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { connect, POSTGRES_BIN } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 60_000 })

const today = (): Instant => dayStart(dayOf(systemClock.now()))
const tableOf = (at: Instant): string =>
  `activity_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}`

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('the days of the log', () => {
    const cluster = clusterForAll(bin)

    const partsOf = async (address: Address): Promise<readonly string[]> => {
      const rows = await cluster.run<{ name: string }>(
        address,
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'activity'::regclass ORDER BY 1",
      )
      return rows.map(({ name }) => name)
    }
    /** Where each line is, in the order of ids. */
    const linesOf = async (address: Address): Promise<readonly string[]> => {
      const rows = await cluster.run<{ name: string }>(
        address,
        'SELECT tableoid::regclass::text AS name FROM activity ORDER BY generation_id',
      )
      return rows.map(({ name }) => name)
    }
    const openAt = async (address: Address, node: string, clock: HandClock) => {
      const store = await openPostgres({ address, clock, node })
      onTestFinished(() => store.close())
      return store
    }
    const claimOf = (store: GatewayStore, key: ApiKey, at: Instant): Claim => ({
      ...aClaim(key, at, usd('0.01')),
      owner: store.owner,
    })
    const settleAt = (store: GatewayStore, claim: Claim, at: Instant): Promise<boolean> => {
      const charge = aCharge(usd('0.01'))
      const activity = anActivity(claim, { cost: charge.amount, costRub: charge.costRub })
      return store.admissions.settle(claim.generationId, { at, charge, activity, answer: null })
    }
    /** A refusal that arrived then, and took so long. */
    const note = async (store: GatewayStore, key: ApiKey, at: Instant, totalMs = 10) => {
      store.activity.note(anActivity(aClaim(key, at), { totalMs }))
      await store.activity.count({})
    }

    test('are there from today on, and whoever makes them, however often and at once, finds them', async () => {
      const address = await cluster.create()
      const ahead = [0, 1, 2, 3].map((days) => tableOf(later(today(), days * DAY_MS)))
      expect(await partsOf(address)).toEqual([...ahead, 'activity_other'].toSorted())
      const database = openTables(address)
      const past = later(today(), -5 * DAY_MS)
      await Promise.all(
        Array.from({ length: 8 }, () => makeDaysOf(database, past, later(past, 2 * DAY_MS))),
      )
      await makeDaysAhead(database)
      expect(await partsOf(address)).toHaveLength(8)
      const store = await openNode(address, 'a')
      const claim = claimAt(store, await issue(store))
      await store.admissions.admit(claim)
      expect(await settle(store, claim, '0.01')).toBe(true)
      expect(await linesOf(address)).toEqual([tableOf(claim.at)])
      expect(await store.activity.find(claim.generationId)).toMatchObject({ status: 200 })
    })

    test('are made by a node that finds none ahead', async () => {
      const address = await cluster.create()
      const tomorrow = tableOf(later(today(), DAY_MS))
      await cluster.run(address, `DROP TABLE ${tomorrow}`)
      await openNode(address, 'a')
      await vi.waitFor(async () => expect(await partsOf(address)).toContain(tomorrow), {
        timeout: 10_000,
      })
    })

    test('have a line once, in the day of its arrival, however often and wherever it is settled around midnight', async () => {
      const address = await cluster.create()
      const midnight = later(today(), DAY_MS)
      const clock = handClock(new Date(later(midnight, -50)).toISOString())
      const [a, b] = [await openAt(address, 'a', clock), await openAt(address, 'b', clock)]
      const key = await issue(a, {})
      const claims = Array.from({ length: 6 }, () => claimOf(a, key, clock.now()))
      for (const claim of claims) {
        expect(await a.admissions.admit(claim)).toMatchObject({ admitted: true })
      }
      clock.advance(100)
      expect(clock.now()).toBeGreaterThan(midnight)
      const settled = await Promise.all(
        [a, b, a, b].flatMap((node) => claims.map((claim) => settleAt(node, claim, clock.now()))),
      )
      expect(settled.filter(Boolean)).toHaveLength(claims.length)
      // And one of which the others said that it was ended, before what became of it.
      const late = claimOf(a, key, later(midnight, -1))
      await a.admissions.admit(late)
      await cluster.run(
        address,
        `SET search_path = ${SEARCH_PATH}; SELECT end_epochs(ARRAY['${a.owner.epoch}'], ARRAY['a'], ${clock.now()}, 'silent')`,
      )
      expect(await a.activity.find(late.generationId)).toMatchObject({ status: 500 })
      clock.advance(DAY_MS)
      expect(await settleAt(b, late, clock.now())).toBe(true)
      expect(await settleAt(a, late, clock.now())).toBe(false)
      expect(await a.activity.find(late.generationId)).toMatchObject({ status: 200 })
      expect(await linesOf(address)).toEqual(
        Array.from({ length: 7 }, () => tableOf(later(midnight, -1))),
      )
      expect((await a.audit()).findings).toEqual([])
      expect((await a.ledger.list({ kind: 'charge', limit: 99 })).length).toBe(7)
    })

    test('are dropped as a whole, once every line of theirs had ended before; since then the log is whole', async () => {
      const address = await cluster.create()
      const first = later(today(), -5 * DAY_MS)
      await makeDaysOf(openTables(address), first, later(today(), -DAY_MS))
      const clock = handClock(new Date(systemClock.now()).toISOString())
      const store = await openAt(address, 'a', clock)
      const key = await issue(store)
      const noon = (day: number): Instant => later(first, day * DAY_MS + DAY_MS / 2)
      for (const day of [0, 0, 1, 2, 3]) await note(store, key, noon(day))
      // Of the second day one that has run into the fourth.
      await note(store, key, noon(1), 2 * DAY_MS)
      const before = later(first, 3 * DAY_MS + 1)
      expect(await store.activity.trim(before, 100)).toBe(3)
      const left = [1, 3].map((day) => tableOf(noon(day)))
      expect((await linesOf(address)).toSorted()).toEqual([left[0], left[0], left[1]])
      expect(await partsOf(address)).not.toContain(tableOf(noon(0)))
      expect(await store.activity.keptSince()).toBe(later(first, 3 * DAY_MS))
      expect(await store.activity.trim(before, 100)).toBe(0)
      expect(await store.activity.trim(noon(3), 100)).toBe(0)
      expect(await store.activity.trim(later(noon(3), 1_000), 100)).toBe(2)
      expect(await linesOf(address)).toEqual([left[1]])
      expect(await store.activity.count({})).toBe(1)
    })

    test('that are missing lose nothing: their lines are among the others, and deleted one by one', async () => {
      const address = await cluster.create()
      const past = later(today(), -2 * DAY_MS)
      const clock = handClock(new Date(past).toISOString())
      const store = await openAt(address, 'a', clock)
      const key = await issue(store)
      for (let n = 0; n < 3; n++) await note(store, key, later(past, n))
      expect(await linesOf(address)).toEqual(Array.from({ length: 3 }, () => 'activity_other'))
      // Where its lines are there already, a day is not made.
      await makeDaysOf(openTables(address), past, later(past, DAY_MS))
      expect(await partsOf(address)).not.toContain(tableOf(past))
      expect(await partsOf(address)).toContain(tableOf(later(past, DAY_MS)))
      expect(await store.activity.trim(later(past, 1_000), 2)).toBe(2)
      expect(await store.activity.trim(later(past, 1_000), 2)).toBe(1)
      expect(await linesOf(address)).toEqual([])
    })

    test('wait with their end for those who read, and no request waits behind them', async () => {
      const address = await cluster.create()
      const old = later(today(), -3 * DAY_MS)
      const database = openTables(address)
      await makeDaysOf(database, old, old)
      const store = await openNode(address, 'a')
      const key = await issue(store, {})
      await note(store, key, old)
      const reader = await connect(address)
      onTestFinished(() => reader.close({ timeout: 0 }))
      await reader.unsafe('BEGIN; SELECT count(*) FROM activity').simple()
      const dropping = dropDays(database, today())
      for (let n = 0; n < 100; n++) {
        const claim = claimAt(store, key)
        expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
        expect(await settle(store, claim, '0.01')).toBe(true)
      }
      expect(await partsOf(address)).toContain(tableOf(old))
      await reader.unsafe('COMMIT')
      expect(await dropping).toBe(1)
      expect(await partsOf(address)).not.toContain(tableOf(old))
    })

    test('are the business of nodes without a right to change tables too', async () => {
      const address = await cluster.createEmpty()
      const roles = await cluster.run(address, "SELECT 1 FROM pg_roles WHERE rolname = 'gateway'")
      if (roles.length === 0) await cluster.run(address, 'CREATE ROLE gateway LOGIN')
      await migrate(address)
      const store = await openNode({ ...address, username: 'gateway' }, 'a')
      const key = await issue(store)
      const old = later(today(), -3 * DAY_MS)
      await makeDaysOf(openTables({ ...address, username: 'gateway' }), old, old)
      await note(store, key, old)
      await note(store, key, later(old, -DAY_MS))
      expect(await linesOf(address)).toEqual(['activity_other', tableOf(old)])
      expect(await store.activity.trim(today(), 100)).toBe(2)
      expect((await store.nodes?.server())?.lacking).toEqual([])
    })

    test('come to a log that was written without them: what is there stays readable, and is deleted when it is old', async () => {
      const address = await cluster.createEmpty()
      const old = later(today(), -40 * DAY_MS)
      const ids = [old, later(old, DAY_MS), systemClock.now()].map(newGenerationId)
      await cluster.run(
        address,
        `CREATE TABLE schema_version (version bigint NOT NULL); INSERT INTO schema_version VALUES (4);
         ${MIGRATIONS.slice(0, 4).join(';\n')};
         INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, stream, status, ended_by, started_at, admitted_at, total_ms,
           input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens, input_images,
           output_images, search_units, cost_nanos, cost_rub_micros, operator_cost_nanos, cache_write_1h_tokens, surface)
         SELECT id, 'req_' || n, 'acct_1', 'key_1', false, 'm', false, 429, 'gateway', at, at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'chat'
         FROM unnest(ARRAY['${ids.join("','")}'], ARRAY[${old}, ${old + DAY_MS}, ${systemClock.now()}]) WITH ORDINALITY AS u(id, at, n)`,
      )
      expect(await migrate(address)).toEqual({
        from: 4,
        to: NEWEST_VERSION,
        madeFunctions: true,
      })
      expect(await linesOf(address)).toEqual(ids.map(() => 'activity_past'))
      const store = await openNode(address, 'a')
      const key = await issue(store)
      // It reaches to the end of this day, the next has its own.
      for (const days of [0, 1]) await note(store, key, later(systemClock.now(), days * DAY_MS))
      const after = await linesOf(address)
      expect(after.slice(3)).toEqual(['activity_past', tableOf(later(today(), DAY_MS))])
      expect(
        (await store.activity.list({ limit: 9 })).map(({ generationId }) => generationId),
      ).toEqual(expect.arrayContaining(ids))
      expect(await store.activity.trim(later(old, 2 * DAY_MS), 9)).toBe(2)
      expect(await linesOf(address)).toHaveLength(3)
      // Again is nothing more.
      expect(await migrate(address)).toEqual({
        from: NEWEST_VERSION,
        to: NEWEST_VERSION,
        madeFunctions: false,
      })
    })
  })
}
