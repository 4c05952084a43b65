/** Acts in the transactions of SQLite's own ports. */
import type { Database } from 'bun:sqlite'
import type { Act, ActChanges } from '#domain/act.ts'
import { noteAct } from '../../log/acts.ts'
import { prepareRunNow } from '../engine/engine.ts'

/** Writes an act, in the transaction that is open: the one of its change (`commitDurably`). */
export function prepareNoteAct(database: Database): (act: Act, seen?: ActChanges) => void {
  const runNow = prepareRunNow(database)
  return (act, seen) => runNow(noteAct(act, seen))
}
