// Versions of the schema: which binary serves from which, and what a migration waits for and refuses.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import { FUNCTIONS, MIGRATIONS, NEWEST_VERSION, SERVES_FROM } from '#db/postgres/engine/versions.ts'
import { listNodes, readStore } from '#db/postgres/operate.ts'
import { systemClock } from '#domain/clock.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { claimAt, issue, openNode, openTables, settle } from '#test/support/nodes.ts'
import { connect, POSTGRES_BIN } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 60_000 })

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('the schema', () => {
    const cluster = clusterForAll(bin)
    const newer = NEWEST_VERSION + 1
    const ALREADY = { from: NEWEST_VERSION, to: NEWEST_VERSION, madeFunctions: false }
    /** As a newer binary leaves it, whose functions stand beside. */
    const becomeNewer = (address: Address, servesFrom: number) =>
      cluster.run(
        address,
        `UPDATE schema_version SET version = ${newer}, serves_from = ${servesFrom}`,
      )
    /** A living node of another binary. */
    const addNode = (address: Address, name: string, schema: number) =>
      cluster.run(
        address,
        `INSERT INTO nodes (name, epoch, version, schema) VALUES ('${name}', 'epoch_${name}', '0.0.9', ${schema})`,
      )
    const versionOf = async (address: Address) =>
      (await cluster.run<{ version: string }>(address, 'SELECT version FROM schema_version'))[0]

    test('of a newer binary is served from while it has what this one needs', async () => {
      const address = await cluster.create()
      await becomeNewer(address, NEWEST_VERSION)
      const store = await openNode(address, 'a')
      const key = await issue(store)
      const claim = claimAt(store, key)
      expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
      expect(await settle(store, claim, '0.01')).toBe(true)
      // It is ready: no balancer leaves it.
      const { schemaVersion, newestSchemaVersion } = await store.health({ checkIntegrity: false })
      expect([schemaVersion, newestSchemaVersion]).toEqual([newer, newer])
      expect(await migrate(address)).toEqual({ from: newer, to: newer, madeFunctions: false })
      expect(await listNodes(address, systemClock)).toMatchObject([
        { name: 'a', schema: NEWEST_VERSION },
      ])
      expect(await readStore(address, systemClock)).toMatchObject({
        ...{ schema_version: newer, newest_schema_version: NEWEST_VERSION, is_served: true },
        nodes: [{ name: 'a', version: '0', schema: NEWEST_VERSION }],
      })
    })

    test('of a newer binary is refused once that has removed what this one needs, and a node that stood still is not ready', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store)
      await becomeNewer(address, newer)
      await cluster.run(address, `DROP SCHEMA ${FUNCTIONS} CASCADE`)
      const refusal = {
        code: 'store_unavailable',
        message: `this database is schema ${newer}, and this binary works with ${NEWEST_VERSION}`,
        details: expect.objectContaining({
          hint: expect.stringContaining(`for binaries of schema ${newer} and newer`),
        }),
      }
      await expect(openNode(address, 'b')).rejects.toMatchObject(refusal)
      await expect(migrate(address)).rejects.toMatchObject(refusal)
      expect(await versionOf(address)).toEqual({ version: `${newer}` })
      const { schemaVersion, newestSchemaVersion } = await store.health({ checkIntegrity: false })
      expect([schemaVersion, newestSchemaVersion]).toEqual([newer, NEWEST_VERSION])
      await expect(store.admissions.admit(claimAt(store, key))).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('newer version'),
      })
    })

    test('of a newer binary that has not the functions of this build is served from once this one has migrated, which leaves the tables as they are', async () => {
      const address = await cluster.create()
      await becomeNewer(address, SERVES_FROM)
      await cluster.run(
        address,
        `DROP SCHEMA ${FUNCTIONS} CASCADE; CREATE ROLE gateway LOGIN; CREATE TABLE theirs (a bigint)`,
      )
      onTestFinished(async () => {
        await cluster.run(address, 'DROP OWNED BY gateway; DROP ROLE gateway')
      })
      await expect(openNode(address, 'a')).rejects.toMatchObject({
        code: 'store_unavailable',
        message: `this database has not the functions of this binary, ${FUNCTIONS}`,
        details: expect.objectContaining({ hint: 'gatewayctl store migrate' }),
      })
      expect(await migrate(address)).toEqual({ from: newer, to: newer, madeFunctions: true })
      const store = await openNode(address, 'a')
      const claim = claimAt(store, await issue(store))
      expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
      expect(
        await cluster.run(
          address,
          `SELECT version::int, serves_from::int, has_schema_privilege('gateway', '${FUNCTIONS}', 'USAGE') AS functions,
             has_table_privilege('gateway', 'theirs', 'SELECT') AS tables FROM schema_version`,
        ),
      ).toEqual([{ version: newer, serves_from: SERVES_FROM, functions: true, tables: false }])
    })

    test('of another build of this version is not served from, until it is migrated beside the nodes of that', async () => {
      const address = await cluster.create()
      const other = `gw${NEWEST_VERSION}_0a1b2c3d`
      await cluster.run(address, `ALTER SCHEMA ${FUNCTIONS} RENAME TO ${other}`)
      await addNode(address, 'other', NEWEST_VERSION)
      await expect(openNode(address, 'a')).rejects.toMatchObject({
        code: 'store_unavailable',
        message: `this database has not the functions of this binary, ${FUNCTIONS}`,
        details: expect.objectContaining({ hint: 'gatewayctl store migrate' }),
      })
      expect(await readStore(address, systemClock)).toMatchObject({
        is_served: false,
        nodes: [{ name: 'other', version: '0.0.9', schema: NEWEST_VERSION }],
      })
      expect(await migrate(address)).toEqual({ ...ALREADY, madeFunctions: true })
      const store = await openNode(address, 'a')
      const claim = claimAt(store, await issue(store))
      expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
      const schemas = await cluster.run<{ name: string }>(
        address,
        "SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^gw' ORDER BY 1",
      )
      expect(await migrate(address)).toEqual(ALREADY)
      expect(schemas.map(({ name }) => name)).toEqual([other, FUNCTIONS].toSorted())
    })

    test('is not migrated while a node serves that is too old for it, which is named', async () => {
      const address = await cluster.create()
      await cluster.run(address, `UPDATE schema_version SET version = ${NEWEST_VERSION - 1}`)
      await addNode(address, 'current', SERVES_FROM)
      await addNode(address, 'old', SERVES_FROM - 1)
      await expect(migrate(address)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(/ old \(0\.0\.9, schema \d+\)$/),
        details: expect.objectContaining({ hint: expect.stringContaining('stop them') }),
      })
      expect(await versionOf(address)).toEqual({ version: `${NEWEST_VERSION - 1}` })
      // It is gone once it has not beaten for so long.
      await cluster.run(
        address,
        `UPDATE nodes SET beat_at = clock_timestamp() - interval '11 seconds' WHERE name = 'old';
         UPDATE schema_version SET version = ${NEWEST_VERSION}; CREATE SCHEMA gw${SERVES_FROM - 1}; CREATE SCHEMA gw${SERVES_FROM - 1}_0a1b2c3d;
         CREATE SCHEMA gw${SERVES_FROM}; CREATE SCHEMA gw_own`,
      )
      expect(await migrate(address)).toEqual(ALREADY)
      const left = await cluster.run<{ name: string }>(
        address,
        "SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^gw' ORDER BY 1",
      )
      expect(left.map(({ name }) => name)).toEqual([`gw${SERVES_FROM}`, FUNCTIONS, 'gw_own'])
    })

    test('of the version before functions had a schema loses them, and keeps everything else', async () => {
      const address = await cluster.createEmpty()
      await cluster.run(
        address,
        `${MIGRATIONS.slice(0, 2).join(';\n')};
         CREATE FUNCTION admit(a int) RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE FUNCTION admit(a text) RETURNS text LANGUAGE sql AS 'SELECT a';
         CREATE TABLE schema_version (version bigint NOT NULL); INSERT INTO schema_version VALUES (2);
         INSERT INTO nodes (name, epoch, version) VALUES ('before', 'epoch_1', '0.1.9')`,
      )
      await expect(migrate(address)).rejects.toThrow('before (0.1.9, schema 2)')
      expect((await readStore(address, systemClock)).nodes).toEqual([
        { name: 'before', version: '0.1.9', schema: 2 },
      ])
      await cluster.run(address, "UPDATE nodes SET beat_at = beat_at - interval '1 minute'")
      expect(await migrate(address)).toEqual({ from: 2, to: NEWEST_VERSION, madeFunctions: true })
      const stray = await cluster.run<{ name: string }>(
        address,
        "SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
      )
      expect(stray.map(({ name }) => name)).toEqual([
        'forget_tokens',
        'refuse_change',
        'retire_prices',
      ])
      const store = await openNode(address, 'a')
      const claim = claimAt(store, await issue(store))
      expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
    })

    test('is changed by a role alone that may, and what is missing is said', async () => {
      const address = await cluster.createEmpty()
      await cluster.run(address, 'CREATE ROLE clerk LOGIN; GRANT CREATE ON SCHEMA public TO clerk')
      const asClerk = { ...address, username: 'clerk' }
      await expect(migrate(asClerk)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('the role "clerk" may not change the schema: permission'),
        details: expect.objectContaining({
          hint: expect.stringContaining(`GRANT CREATE ON DATABASE "${address.database}"`),
        }),
      })
      await cluster.run(address, `GRANT CREATE ON DATABASE ${address.database} TO clerk`)
      expect(await migrate(asClerk)).toEqual({ from: 0, to: NEWEST_VERSION, madeFunctions: true })
    })

    test('is migrated behind a table that somebody reads, and nobody waits behind the migration', async () => {
      const address = await cluster.create()
      const store = await openNode(address, 'a')
      const key = await issue(store, {})
      const reader = await connect(address)
      onTestFinished(() => reader.close({ timeout: 0 }))
      await reader.unsafe('BEGIN; LOCK TABLE nodes IN ROW EXCLUSIVE MODE').simple()
      const migrating = migrate(address)
      let done = false
      void migrating.finally(() => {
        done = true
      })
      const waits = async () =>
        (
          await openTables(address).all(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'nodes'::regclass",
          )
        ).length > 0
      await vi.waitFor(async () => expect(await waits()).toBe(true), { timeout: 10_000 })
      for (let n = 0; n < 20; n++) {
        const claim = claimAt(store, key)
        expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
        expect(await settle(store, claim, '0.01')).toBe(true)
      }
      expect(done).toBe(false)
      await reader.unsafe('COMMIT')
      expect(await migrating).toEqual(ALREADY)
    })
  })
}
