/** The catalogue in PostgreSQL: held in memory by each node, and read again after a change of this one, or when a claim is stale. */
import type { Act, ActChanges } from '#domain/act.ts'
import type { Catalogue, Catalogues } from '#domain/catalogue.ts'
import { CATALOGUE_SQL, type CatalogueRows, toCatalogue } from '../../rows/catalogue-rows.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'

/** A change that is refused as made for another version. */
const STALE = Symbol('stale')

/** What a change sees: the catalogue before it, and the version that is in force with it. */
export interface Changing {
  readonly tx: Sql
  readonly before: Catalogue
  readonly version: number
}

export interface HeldCatalogue extends Catalogues {
  /** Reads it again where another version is in force. */
  refresh(): Promise<void>
  /** Runs a change in its own transaction, and writes its act there; `seen` is what the act gains. */
  change<T>(
    act: Act | null,
    expected: number | undefined,
    write: (changing: Changing) => Promise<T>,
    seen?: (written: T) => ActChanges,
  ): Promise<T | 'stale'>
}

export async function openCatalogue(database: Database): Promise<HeldCatalogue> {
  let held = await readCatalogue(database)
  const refresh = async (): Promise<void> => {
    const version = await readVersion(database)
    if (version > held.version) await take()
  }
  const take = async (): Promise<void> => {
    const read = await database.snapshot(readCatalogue)
    // Another read may have been faster.
    if (read.version > held.version) held = read
  }
  return {
    current: () => held,
    refresh,
    async change(act, expected, write, seen) {
      try {
        const written = await database.change(async (tx) => {
          const before = (await readVersion(tx)) === held.version ? held : await readCatalogue(tx)
          if (expected !== undefined && expected !== before.version) throw STALE
          const version = before.version + 1
          const done = await write({ tx, before, version })
          await tx.run('UPDATE catalogue_version SET version = ?', version)
          if (act !== null) await noteAct(tx, act, seen?.(done))
          return done
        })
        await take()
        return written
      } catch (error) {
        if (error !== STALE) throw error
        await refresh()
        return 'stale'
      }
    },
  }
}

const readVersion = async (sql: Sql): Promise<number> =>
  (await sql.get<{ version: number }>('SELECT version FROM catalogue_version'))?.version ?? 0

async function readCatalogue(sql: Sql): Promise<Catalogue> {
  const rows: Record<string, unknown> = { version: await readVersion(sql) }
  for (const [table, text] of Object.entries(CATALOGUE_SQL)) rows[table] = await sql.all(text)
  return toCatalogue(rows as unknown as CatalogueRows)
}
