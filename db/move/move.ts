/** Moves a whole store between a data directory and PostgreSQL, while nobody serves from either: all of it, or nothing. */
import { Database as File } from 'bun:sqlite'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { draftAct } from '#domain/act.ts'
import type { Audit } from '#domain/audit.ts'
import type { Clock, Instant } from '#domain/clock.ts'
import { type GenerationId, generationArrivedAt, newEpochId } from '#domain/id.ts'
import { DATABASE_FILE } from '../file-name.ts'
import { openStore } from '../index.ts'
import { noteAct } from '../log/acts.ts'
import { expire } from '../postgres/admission/expire.ts'
import { openCatalogue } from '../postgres/catalogue/catalogue.ts'
import { type Address, renderAddress } from '../postgres/engine/address.ts'
import {
  type Database,
  ONE_AT_A_TIME,
  openDatabase as openPostgres,
  type Sql,
} from '../postgres/engine/database.ts'
import { send } from '../postgres/engine/engine.ts'
import {
  markMoved as markPostgres,
  migrate,
  readSchema,
  requireSchema,
} from '../postgres/engine/migrate.ts'
import { LIVES } from '../postgres/engine/node-life.ts'
import { makeDaysOf } from '../postgres/log/days.ts'
import { auditIn } from '../postgres/money/audit.ts'
import { openMarks } from '../postgres/outbox/passed-marks.ts'
import { requireSameKey } from '../postgres/sealed-word.ts'
import { prepareRunNow } from '../sqlite/engine/engine.ts'
import { lockDirectory } from '../sqlite/engine/lock.ts'
import { migrate as migrateFile } from '../sqlite/engine/migrate.ts'
import { openDatabase as openFile } from '../sqlite/engine/open.ts'
import { markMoved as markFile } from '../sqlite/engine/schema-version.ts'
import { sync } from '../sqlite/files/copy.ts'
import { auditAtRest } from '../sqlite/money/audit.ts'
import type { Vault } from '../vault.ts'
import { copyToPostgres, copyToSqlite, type Said } from './copy.ts'
import { joinNames } from './join-names.ts'
import { MADE_WITH_ROWS, PLACES, SEALED, SHARED, SLOTS, TO_POSTGRES, TO_SQLITE } from './tables.ts'

export interface MoveOptions {
  readonly dataDir: string
  readonly address: Address
  readonly clock: Clock
  /** Null without a master key: then nothing may be sealed. */
  readonly vault: Vault | null
  readonly who: string
  readonly said: Said
}

export interface Move {
  readonly at: Instant
  readonly tables: number
  readonly rows: number
  /** Of the source, to which that of the target is equal. */
  readonly audit: Audit
}

/** Why nothing was moved, or not to the end, and what to do. */
export class MoveRefusal extends Error {
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.name = 'MoveRefusal'
    this.hint = hint
  }
}

/** The target may be without tables. @throws MoveRefusal, store_unavailable */
export async function moveToPostgres(options: MoveOptions): Promise<Move> {
  const { dataDir, address, clock } = options
  // What an earlier process has left open is ended, as at every start.
  await (await openStore({ dataDir, clock, onOlderSchema: 'refuse' })).close()
  const release = lockDirectory(dataDir)
  const source = openFile(join(dataDir, DATABASE_FILE))
  const target = open(options)
  try {
    source.run('PRAGMA temp_store = FILE')
    source.run('BEGIN IMMEDIATE')
    const found = await auditAtRest(source)
    requireClean(found)
    await requireEmpty(target, address)
    const at = clock.now()
    const audit = { ...found, endUserDays: found.endUserDays - joinNames(source, at) }
    // Before the target is whole, because this may fail; what breaks off rolls it back.
    markFile(source, { place: renderAddress(address), at })
    await migrate(address)
    await requireSchema(target, { exactly: true })
    const rows = await target.transact((tx) => fillPostgres(source, tx, audit, at, options))
    source.run('COMMIT')
    return { at, tables: TO_POSTGRES.length, rows, audit }
  } finally {
    if (source.inTransaction) source.run('ROLLBACK')
    source.close()
    await target.close()
    release()
  }
}

/** The directory is there, and without a database. @throws MoveRefusal, store_unavailable */
export async function moveToSqlite(options: MoveOptions): Promise<Move> {
  const { dataDir, clock } = options
  const release = lockDirectory(dataDir)
  const source = open(options)
  const path = join(dataDir, DATABASE_FILE)
  const fresh = `${path}.moving`
  let isWhole = false
  try {
    if (existsSync(path)) throw holdsFile(path)
    await requireSchema(source, { exactly: true })
    // The words of what charges have passed are written before.
    await openMarks(source, await openCatalogue(source)).tell()
    const at = clock.now()
    const move = await source.transact(async (tx) => {
      await keepOthersOut(tx)
      // Where this is a repetition, an earlier one may have been committed after all.
      await requireSchema(tx, { exactly: true })
      isWhole = false
      await endNodes(tx, at)
      const audit = await auditIn(tx)
      requireClean(audit)
      const rows = await makeFile(fresh, tx, audit, at, options)
      await markPostgres(tx, { place: dataDir, at })
      sync(dataDir)
      isWhole = true
      return { at, tables: TO_SQLITE.length, rows, audit }
    })
    renameSync(fresh, path)
    sync(dataDir)
    return move
  } catch (cause) {
    if (!isWhole) throw cause
    throw halfMoved(fresh, path, cause)
  } finally {
    await source.close()
    release()
  }
}

const open = ({ address, clock, vault }: MoveOptions): Database =>
  openPostgres(address, { clock, owner: { node: '', epoch: newEpochId(clock.now()) }, vault })

/** Nobody changes or admits anything meanwhile, and the transaction may take its time. */
async function keepOthersOut(tx: Sql): Promise<void> {
  await tx.run('SET LOCAL idle_in_transaction_session_timeout = 0')
  await tx.run(ONE_AT_A_TIME)
  await tx.run('SELECT pg_advisory_xact_lock(7001)')
}

async function fillPostgres(
  source: File,
  tx: Sql,
  audit: Audit,
  at: Instant,
  { dataDir, address, vault, who, said }: MoveOptions,
): Promise<number> {
  await keepOthersOut(tx)
  await requireEmpty(tx, address)
  const keys = source.query<{ key: string }, []>(SEALED_BY).all()
  requireKey(keys, vault)
  if (vault !== null) await requireSameKey(tx, vault)
  for (const table of MADE_WITH_ROWS) await tx.run(`DELETE FROM ${table}`)
  await makeDays(source, tx)
  let rows = 0
  for (const one of TO_POSTGRES) rows += await copyToPostgres(source, tx, one, said)
  await tx.run(SLOTS, at)
  for (const sql of PLACES) await tx.all(sql)
  requireEqual(audit, await auditIn(tx))
  const act = { target: renderAddress(address), changed: { from: dataDir } }
  await send(tx, noteAct(draftAct(at, who, 'store.move', act)))
  return rows
}

/** Those that the log of the source has lines of. */
async function makeDays(source: File, tx: Sql): Promise<void> {
  const ends = source
    .query<{ first: GenerationId | null; last: GenerationId | null }, []>(
      'SELECT min(generation_id) AS first, max(generation_id) AS last FROM activity',
    )
    .get()
  if (!ends?.first || !ends.last) return
  await makeDaysOf(tx, generationArrivedAt(ends.first), generationArrivedAt(ends.last))
}

/** A whole database under another name, on the disk. */
async function makeFile(
  fresh: string,
  tx: Sql,
  audit: Audit,
  at: Instant,
  { dataDir, address, vault, who, said }: MoveOptions,
): Promise<number> {
  rmSync(fresh, { force: true })
  requireKey(await tx.all<{ key: string }>(SEALED_BY), vault)
  const target = new File(fresh, { create: true, strict: true })
  try {
    // No journal, because on any failure the file is made anew.
    for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'foreign_keys = ON']) {
      target.run(`PRAGMA ${pragma}`)
    }
    target.run('PRAGMA temp_store = FILE')
    migrateFile(target, fresh)
    target.run('BEGIN')
    for (const table of MADE_WITH_ROWS) target.run(`DELETE FROM ${table}`)
    let rows = 0
    for (const one of TO_SQLITE) rows += await copyToSqlite(tx, target, one, said)
    target.run('COMMIT')
    requireEqual(audit, await auditAtRest(target))
    const act = { target: dataDir, changed: { from: renderAddress(address) } }
    prepareRunNow(target)(noteAct(draftAct(at, who, 'store.move', act)))
    return rows
  } finally {
    target.close()
    sync(fresh)
  }
}

function requireClean({ found }: Audit): void {
  if (found === 0) return
  throw new MoveRefusal(
    `the audit finds ${found} differences in what is to be moved`,
    'gatewayctl audit shows them; restore a backup, or ask for help, before you move',
  )
}

const sumsOf = ({ entries, keyDays, endUserDays, beyondHold, balances, found }: Audit): string =>
  JSON.stringify([
    [entries, keyDays, endUserDays, beyondHold, found],
    balances.map((one) => [one.accountId, `${one.balance}`, `${one.ledgerSum}`]),
  ])

function requireEqual(source: Audit, target: Audit): void {
  if (sumsOf(source) === sumsOf(target)) return
  throw new MoveRefusal(
    'the audit of what arrived differs from that of the source, which is as it was: nothing is moved',
    'move it again; if it differs again, report it as a bug',
  )
}

/** A table with a row. Where the schema is not gatewayctl's, any table is too much. */
async function requireEmpty(sql: Sql, address: Address): Promise<void> {
  const { version } = await readSchema(sql)
  const tables = await sql.all<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace",
  )
  for (const { name } of tables) {
    const isOurs = SHARED.includes(name) && !MADE_WITH_ROWS.includes(name)
    if (version > 0 && !isOurs) continue
    const row = version === 0 ? name : await sql.get(`SELECT 1 FROM ${name} LIMIT 1`)
    if (row === null) continue
    throw new MoveRefusal(
      `${renderAddress(address)} holds something already: its table ${name} ${version === 0 ? 'is not of gatewayctl' : 'has rows'}`,
      'dropdb and createdb, or another database',
    )
  }
}

const holdsFile = (path: string): MoveRefusal =>
  new MoveRefusal(
    `${path} is there already, and only an empty data directory is moved into`,
    'another directory: gatewayctl --data-dir DIRECTORY store move --from ADDRESS',
  )

/** All of it is in the file, and only PostgreSQL knows whether it has taken the mark. */
const halfMoved = (fresh: string, path: string, cause: unknown): MoveRefusal =>
  new MoveRefusal(
    `all of it is in ${fresh}, but the end of the move failed: ${cause instanceof Error ? cause.message : cause}`,
    `gatewayctl store status: where it says "was moved", rename the file to ${path}; where it opens, move again`,
  )

/** What nodes that are gone have held is void; one that was only stopped has no epoch to come back to. */
async function endNodes(tx: Sql, at: Instant): Promise<void> {
  const alive = await tx.all<{ name: string }>(
    `SELECT name FROM nodes WHERE ${LIVES} ORDER BY name`,
  )
  if (alive.length > 0) {
    throw new MoveRefusal(
      `nodes serve from it: ${alive.map(({ name }) => name).join(', ')}`,
      'stop them; one that was killed counts as gone after 10 seconds: gatewayctl nodes list',
    )
  }
  const gone = await tx.all<{ epoch: string; name: string }>(
    'DELETE FROM nodes RETURNING epoch, name',
  )
  const epochs = gone.map(({ epoch }) => epoch)
  const names = gone.map(({ name }) => name)
  await expire(tx, 'void', epochs, at, names)
  await tx.run("SELECT end_holds(ARRAY(SELECT generation_id FROM holds), ?, 'void')", at)
}

/** `v1.<key id>.…`: the key ids of all that is sealed. */
const SEALED_BY = `SELECT DISTINCT substr(sealed, 4, 8) AS key FROM (${SEALED.map(
  ([table, column]) => `SELECT ${column} AS sealed FROM ${table}`,
).join(' UNION ALL ')}) AS found WHERE sealed IS NOT NULL`

function requireKey(keys: readonly { readonly key: string }[], vault: Vault | null): void {
  const own = vault?.keyId
  if (keys.every(({ key }) => key === own)) return
  throw new MoveRefusal(
    own === undefined
      ? 'it has sealed credentials, and there is no master key'
      : 'it has credentials that another master key has sealed',
    'GATEWAY_MASTER_KEY_FILE: the master key that has sealed them; gatewayctl doctor names those that it cannot open',
  )
}
