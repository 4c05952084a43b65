// A store is moved between its data directory and PostgreSQL as if it had been restarted: nothing is lost, and nothing is there twice.
import { Database as File } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { type MoveOptions, MoveRefusal, moveToPostgres, moveToSqlite } from '#db/move/move.ts'
import { NOT_MOVED, ONLY_POSTGRES, ONLY_SQLITE, SEALED, SHARED } from '#db/move/tables.ts'
import type { Address } from '#db/postgres/engine/address.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { migrate as migrateFile } from '#db/sqlite/engine/migrate.ts'
import { openVault } from '#db/vault.ts'
import { type Clock, systemClock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { type OpenStore, type ReopenStore, setBench } from './contract/bench.ts'
import { restartContract } from './contract/restart.ts'
import { fillEveryTable } from './every-table.ts'

vi.setConfig({ testTimeout: 60_000 })

const masterKey = new Uint8Array(32).fill(7)
const vault = openVault(masterKey)

const optionsOf = (dataDir: string, address: Address, clock: Clock = systemClock): MoveOptions => ({
  ...{ dataDir, address, clock, vault, who: 'someone' },
  said() {},
})

/** PostgreSQL has no text with one, nor JSON. */
function withoutNul(table: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = value.replaceAll('\0', '\ufffd')
  return table === 'events' ? text.replaceAll('\\u0000', '\\ufffd') : text
}

/** What a table holds: of the sums of key days, whether or not a part of one has come to rest. */
const rowsIn = (table: string): string =>
  table === 'key_days'
    ? `SELECT key_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
       FROM (SELECT * FROM key_days UNION ALL SELECT * FROM resting_key_days) GROUP BY key_id, day`
    : `SELECT * FROM ${table}`

/** Every row of the shared tables, as text, in an order of its own; what the two moves themselves have noted is left out. */
function readFile(dataDir: string): Readonly<Record<string, readonly string[]>> {
  const file = new File(join(dataDir, DATABASE_FILE), { readonly: true })
  const rowsOf = (table: string) =>
    file
      .query<Record<string, unknown>, []>(rowsIn(table))
      .all()
      .filter(({ verb }) => verb !== 'store.move')
      .map((row) => JSON.stringify(row, (_, value) => withoutNul(table, value)))
      .toSorted()
  try {
    return Object.fromEntries(SHARED.map((table) => [table, rowsOf(table)]))
  } finally {
    file.close()
  }
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  const cluster = clusterForAll(bin)

  describe('a move is a restart', () => {
    const places = new WeakMap<GatewayStore, string>()
    const addresses = new WeakMap<GatewayStore, Address>()
    const openFile = async (dataDir: string, clock: Clock): Promise<GatewayStore> => {
      const store = await openStore({ dataDir, clock, masterKey })
      places.set(store, dataDir)
      return store
    }
    const openShared = async (address: Address, clock: Clock): Promise<GatewayStore> => {
      const store = await openPostgres({ address, clock, node: 'a', vault })
      addresses.set(store, address)
      return store
    }
    /** To where it is not. */
    const move: ReopenStore = async (store, clock) => {
      await store.close()
      const address = addresses.get(store)
      if (address === undefined) {
        const target = await cluster.createEmpty()
        await moveToPostgres(optionsOf(places.get(store) ?? '', target, clock))
        return await openShared(target, clock)
      }
      const dataDir = tempDirectory()
      await moveToSqlite(optionsOf(dataDir, address, clock))
      return await openFile(dataDir, clock)
    }
    const inFile: OpenStore = (clock) => openFile(tempDirectory(), clock)
    const inDatabase: OpenStore = async (clock) => openShared(await cluster.create(), clock)
    describe('into PostgreSQL', () => restartContract(setBench(inFile, move)))
    describe.runIf(FULL)('into a directory', () => restartContract(setBench(inDatabase, move)))
  })

  test('there and back every row of every table is as it was, and what was moved opens no more', async () => {
    const dataDir = tempDirectory()
    const back = tempDirectory()
    const address = await cluster.createEmpty()
    await fillEveryTable(dataDir, vault)
    const before = readFile(dataDir)
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([])

    const there = await moveToPostgres(optionsOf(dataDir, address))
    const opening = openStore({ dataDir, clock: systemClock })
    await expect(opening).rejects.toThrow(/was moved to postgres:\/\/.* on 20.*, and opens no more/)
    await expect(moveToPostgres(optionsOf(dataDir, address))).rejects.toThrow('was moved to')
    const again = await moveToSqlite(optionsOf(back, address))
    expect(again.audit.balances).toEqual(there.audit.balances)
    const shared = openPostgres({ address, clock: systemClock, node: 'a', vault })
    await expect(shared).rejects.toThrow(`was moved to ${back}`)

    expect(readFile(back)).toEqual(before)
    const store = await openStore({ dataDir: back, clock: systemClock, masterKey })
    const verbs = await store.acts.list({ verb: 'store.move', limit: 9 })
    expect(verbs.map(({ target }) => target)).toEqual([back, expect.stringContaining('postgres:')])
    const health = await store.health({ checkIntegrity: true })
    expect([health.integrityFindings, health.schemaFindings]).toEqual([[], []])
    await store.close()
  })

  test('every table and column of both schemas is moved, or says why it is not', async () => {
    const file = new File(':memory:')
    migrateFile(file, ':memory:')
    const address = await cluster.create()
    const inFile = file
      .query<{ table: string; column: string }, []>(
        `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
      )
      .all()
    const inDatabase = await cluster.run<{ table: string; column: string }>(
      address,
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       WHERE table_schema = 'public' AND is_generated = 'NEVER' AND table_name !~ '^activity_'`,
    )
    const tables = new Set([...inFile, ...inDatabase].map(({ table }) => table))
    expect([...tables].toSorted()).toEqual([...SHARED, ...Object.keys(NOT_MOVED)].toSorted())
    for (const table of SHARED) {
      const columnsOf = (
        all: readonly { table?: string; column?: string }[],
        but: readonly string[] = [],
      ) =>
        all
          .flatMap((one) =>
            one.table === table && !but.includes(one.column ?? '') ? [one.column] : [],
          )
          .toSorted()
      expect([table, columnsOf(inFile, ONLY_SQLITE[table])]).toEqual([
        table,
        columnsOf(inDatabase, ONLY_POSTGRES[table]),
      ])
    }
    const sealed = inFile.filter(({ column }) => column.startsWith('sealed'))
    expect(SEALED.map(([table, column]) => `${table}.${column}`).toSorted()).toEqual(
      sealed.map(({ table, column }) => `${table}.${column}`).toSorted(),
    )
  })

  test('what two names tell apart by a NUL alone becomes one: days are added up, and one notice stays open', async () => {
    const dataDir = await furnished()
    const store = await openStore({ dataDir, clock: systemClock, masterKey })
    const [key] = (await store.keys.list({ includeRevoked: false, limit: 1 })).keys
    if (key === undefined) throw new Error('no key')
    for (const endUser of ['a\0b', 'a\ufffdb', '\0\0', '\ufffd\0']) {
      const claim = {
        ...aClaim(key, systemClock.now()),
        ...{ endUser, catalogue: store.catalogue.current().version },
      }
      await store.admissions.admit({ ...claim, owner: store.owner })
      const charge = aCharge(usd('0.5'))
      const { amount: cost, costRub } = charge
      const activity = anActivity(claim, { endUser, cost, costRub })
      const settled = { at: systemClock.now(), charge, activity, answer: null }
      await store.admissions.settle(claim.generationId, settled)
    }
    await store.close()
    const file = new File(join(dataDir, DATABASE_FILE))
    const raise = file.query(
      "INSERT INTO events (id, cause, subject, severity, body, raised_at) VALUES (?, 'c', ?, 'warning', '{}', 1)",
    )
    for (const [nth, subject] of ['w\0', 'w\ufffd', 'x\0\ufffd', 'x\ufffd\0'].entries()) {
      raise.run(`evt_w${nth}`, subject)
    }
    file.close()

    const address = await cluster.createEmpty()
    await moveToPostgres(optionsOf(dataDir, address))
    const days = 'SELECT end_user, spent_nanos::text AS spent, requests::int FROM end_user_days'
    expect(await cluster.run(address, `${days} ORDER BY end_user`)).toEqual([
      { end_user: 'a\ufffdb', spent: '2000000001', requests: 3 },
      { end_user: '\ufffd\ufffd', spent: '1000000000', requests: 2 },
    ])
    const open = "SELECT subject FROM events WHERE id LIKE 'evt_w%' AND lifted_at IS NULL"
    expect(await cluster.run(address, `${open} ORDER BY subject`)).toEqual([
      { subject: 'w\ufffd' },
      { subject: 'x\ufffd\ufffd' },
    ])
  })

  const furnished = async (): Promise<string> => {
    const dataDir = tempDirectory()
    await fillEveryTable(dataDir, vault)
    return dataDir
  }

  test('a directory that cannot be marked has filled nothing', async () => {
    const dataDir = await furnished()
    const address = await cluster.createEmpty()
    const file = new File(join(dataDir, DATABASE_FILE))
    file.run('CREATE TABLE moved (in_the_way TEXT)')
    await expect(moveToPostgres(optionsOf(dataDir, address))).rejects.toThrow('already exists')
    file.run('DROP TABLE moved')
    file.close()
    await moveToPostgres(optionsOf(dataDir, address))
  })

  test('a database that fails at its commit leaves no second store that opens', async () => {
    const address = await cluster.createEmpty()
    await moveToPostgres(optionsOf(await furnished(), address))
    await cluster.run(
      address,
      `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no commit''; END';
       CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON moved DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()`,
    )
    const back = tempDirectory()
    const path = join(back, DATABASE_FILE)
    const moving = moveToSqlite(optionsOf(back, address))
    await expect(moving).rejects.toThrow(`all of it is in ${path}.moving`)
    expect([existsSync(path), existsSync(`${path}.moving`)]).toEqual([false, true])
    await cluster.run(address, 'DROP TRIGGER cut ON moved')
    await moveToSqlite(optionsOf(back, address))
    expect([existsSync(path), existsSync(`${path}.moving`)]).toEqual([true, false])
  })

  describe('is refused', () => {
    test('into what holds anything', async () => {
      const dataDir = await furnished()
      const foreign = await cluster.createEmpty()
      await cluster.run(foreign, 'CREATE TABLE shop (id int)')
      const refused = moveToPostgres(optionsOf(dataDir, foreign))
      await expect(refused).rejects.toThrow('its table shop is not of gatewayctl')
      const used = await cluster.create()
      await cluster.run(used, "INSERT INTO accounts VALUES ('acct_9', 'other', 0)")
      await expect(moveToPostgres(optionsOf(dataDir, used))).rejects.toThrow('accounts has rows')
      const shared = await cluster.create()
      await expect(moveToSqlite(optionsOf(dataDir, shared))).rejects.toThrow('is there already')
    })

    test('from a database of another schema, or without any', async () => {
      const dataDir = tempDirectory()
      const empty = await cluster.createEmpty()
      const later = await cluster.create()
      // A node of this binary might serve from it; but what was added would stay behind.
      await cluster.run(later, 'UPDATE schema_version SET version = 99')
      for (const [address, schema, hint] of [
        [empty, 'schema 0', 'gatewayctl store migrate'],
        [later, 'schema 99', expect.stringContaining('for binaries of schema 99 and newer')],
      ] as const) {
        const moving = moveToSqlite(optionsOf(dataDir, address))
        await expect(moving).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringContaining(`this database is ${schema}, `),
          details: expect.objectContaining({ hint }),
        })
      }
      expect(existsSync(join(dataDir, DATABASE_FILE))).toBe(false)
    })

    test('while a node serves', async () => {
      const address = await cluster.create()
      const node = await openPostgres({ address, clock: systemClock, node: 'gate-1', vault })
      const dataDir = tempDirectory()
      await expect(moveToSqlite(optionsOf(dataDir, address))).rejects.toThrow(
        'nodes serve from it: gate-1',
      )
      expect(existsSync(join(dataDir, DATABASE_FILE))).toBe(false)
      await node.close()
    })

    test('with another master key, or none, and the source stays as it was', async () => {
      const dataDir = await furnished()
      const address = await cluster.createEmpty()
      const other = openVault(new Uint8Array(32).fill(8))
      for (const wrong of [other, null]) {
        const moving = moveToPostgres({ ...optionsOf(dataDir, address), vault: wrong })
        await expect(moving).rejects.toBeInstanceOf(MoveRefusal)
      }
      await moveToPostgres(optionsOf(dataDir, address))
      const back = { ...optionsOf(tempDirectory(), address), vault: null }
      await expect(moveToSqlite(back)).rejects.toThrow('there is no master key')
    })

    test('where the books are wrong', async () => {
      const dataDir = await furnished()
      const file = new File(join(dataDir, DATABASE_FILE))
      file.run('UPDATE accounts SET balance_nanos = balance_nanos + 1')
      file.close()
      const refused = moveToPostgres(optionsOf(dataDir, await cluster.createEmpty()))
      await expect(refused).rejects.toThrow('the audit finds 1 difference')
    })
  })
}
