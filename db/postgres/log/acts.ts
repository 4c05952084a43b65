/** The log of acts in PostgreSQL. */
import type { Act, ActChanges, Acts } from '#domain/act.ts'
import { type ActRow, toAct, toActRow } from '../../rows/act-row.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import type { Database, Sql } from '../engine/database.ts'

/** Writes an act in the transaction of its change; `seen` is what that adds to it. One without changes is not written. */
export async function noteAct(tx: Sql, act: Act, seen?: ActChanges): Promise<void> {
  const row = toActRow(act, seen)
  if (row === null) return
  await tx.run(
    'INSERT INTO acts (id, at, who, verb, target, changed) VALUES ($id, $at, $who, $verb, $target, $changed)',
    row,
  )
}

export function createActs(database: Database): Acts {
  return {
    note: (act) => database.change((tx) => noteAct(tx, act)),
    async list({
      since = 0,
      until = Number.MAX_SAFE_INTEGER,
      verb = null,
      nouns,
      target = null,
      before = BEHIND_ALL,
      limit,
    }) {
      await database.flush()
      const rows = await database.all<ActRow>(
        `SELECT * FROM acts WHERE at >= $since AND at < $until AND ($verb::text IS NULL OR verb = $verb) AND id < $before
           AND ($nouns::text[] IS NULL OR EXISTS (SELECT FROM unnest($nouns) AS noun WHERE starts_with(verb, noun || '.')))
           AND ($target::text IS NULL OR target = $target)
         ORDER BY id DESC LIMIT $limit`,
        { since, until, verb, nouns: nouns ?? null, target, before, limit },
      )
      return rows.map(toAct)
    },
  }
}
