/** What is wrong with a database: pages, indexes, rows that refer to nothing, and window slots that are not as the log has them. */
import type { Database } from 'bun:sqlite'
import { troubleOf, unavailable } from '../engine/disk.ts'

/** Empty when it is sound; the first twenty otherwise. */
export function integrityFindings(database: Database): readonly string[] {
  try {
    return findFaults(database)
  } catch (error) {
    // Damaged beyond looking through it.
    if (troubleOf(error) === 'damaged' && error instanceof Error) return [error.message]
    throw error
  }
}

/** Tables that grow with every request or answer: no limit, balance or identity is read from them. */
const LOGS: ReadonlySet<string> = new Set(['activity', 'ledger', 'answers', 'answer_pieces'])

/**
 * Checks every other table, with its indexes and what its rows refer to, before anybody is judged by what they seem to lack: a
 * page that was replaced by an older one, or by part of another, reads as sound. A microsecond per row. @throws store_unavailable
 */
export function requireSoundTables(database: Database): void {
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
  for (const { name } of tables) {
    if (LOGS.has(name)) continue
    const [first] = database
      .query<{ integrity_check: string }, []>(`PRAGMA integrity_check("${name}")`)
      .all()
    if (first !== undefined && first.integrity_check !== 'ok') {
      throw unavailable('damaged', new Error(`table ${name}: ${first.integrity_check}`))
    }
    if (database.query(`PRAGMA foreign_key_check("${name}")`).get() !== null) {
      throw unavailable('damaged', new Error(`a row of ${name} refers to nothing`))
    }
  }
}

function findFaults(database: Database): readonly string[] {
  const integrity = database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check(20)')
    .all()
  const dangling = database.query<{ table: string }, []>('PRAGMA foreign_key_check').all()
  return [
    ...integrity.map((row) => row.integrity_check).filter((finding) => finding !== 'ok'),
    ...dangling.map(({ table }) => `a row of ${table} refers to nothing`),
    ...slotFaults(database),
  ]
}

const SAME = `slot.key_id = line.key_id AND slot.admitted_at = line.admitted_at
  AND slot.generation_id = line.generation_id`

const SLOT_FAULTS = `
  SELECT (SELECT count(*) FROM activity AS line
      WHERE generation_id < (SELECT below FROM window_slots_end) AND admitted = 1
        AND NOT EXISTS (SELECT 1 FROM window_slots AS slot WHERE ${SAME})) AS missing,
    (SELECT count(*) FROM window_slots AS slot
      WHERE NOT EXISTS (SELECT 1 FROM activity AS line WHERE ${SAME} AND admitted = 1)) AS stray`

/** A copy of an older database has none. */
function slotFaults(database: Database): readonly string[] {
  const table = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'window_slots'").get()
  if (table === null) return []
  const found = database.query<{ missing: number; stray: number }, []>(SLOT_FAULTS).get()
  const { missing, stray } = found ?? { missing: 0, stray: 0 }
  return [
    ...(missing > 0 ? [`${missing} requests of the log have no window slot`] : []),
    ...(stray > 0 ? [`${stray} window slots have no request in the log`] : []),
  ]
}
