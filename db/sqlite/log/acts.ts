/** The log of acts in SQLite. Triggers of the table prevent updates and deletions. */
import type { Database } from 'bun:sqlite'
import type { Act, ActChanges, Acts } from '#domain/act.ts'
import { type ActRow, toAct, toActRow } from '../../rows/act-row.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

/** Writes an act, in the transaction that is open: the one of its change (`commitDurably`). */
type NoteAct = (act: Act, seen?: ActChanges) => void

/** `seen` is what the transaction adds to the act; one without changes is not written. */
export function prepareNoteAct(database: Database): NoteAct {
  const insert = statement<unknown, [ActRow]>(
    database,
    'INSERT INTO acts (id, at, who, verb, target, changed) VALUES ($id, $at, $who, $verb, $target, $changed)',
  )
  return (act, seen) => {
    const row = toActRow(act, seen)
    if (row !== null) insert().run(row)
  }
}

export function createActs({ database, commit }: Connection): Acts {
  const noteAct = prepareNoteAct(database)
  const newest = statement<
    ActRow,
    [
      {
        since: number
        until: number
        verb: string | null
        nouns: string | null
        target: string | null
        before: string
        limit: number
      },
    ]
  >(
    database,
    `SELECT * FROM acts WHERE at >= $since AND at < $until AND ($verb IS NULL OR verb = $verb) AND id < $before
       AND ($nouns IS NULL OR EXISTS (SELECT 1 FROM json_each($nouns) WHERE instr(verb, value || '.') = 1))
       AND ($target IS NULL OR target = $target)
     ORDER BY id DESC LIMIT $limit`,
  )
  return {
    note: (act) => commit.commitDurably(() => noteAct(act)),
    async list({
      since = 0,
      until = Number.MAX_SAFE_INTEGER,
      verb = null,
      nouns,
      target = null,
      before = BEHIND_ALL,
      limit,
    }) {
      commit.flush()
      const named = nouns === undefined ? null : JSON.stringify(nouns)
      return newest().all({ since, until, verb, nouns: named, target, before, limit }).map(toAct)
    },
  }
}
