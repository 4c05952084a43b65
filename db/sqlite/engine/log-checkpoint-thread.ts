/** The thread of `log-checkpoint.ts`: a connection of its own that folds the log, because folding waits for the disk twice. */
import { Database } from 'bun:sqlite'

declare const self: Worker

export interface CheckpointMessage {
  readonly path: string
  /** Pages that are worth the two syncs of a fold. */
  readonly worthwhilePages: number
  /** From so many on, all that can be seen is folded. */
  readonly longPages: number
  /** Close the connection; no further message follows. */
  readonly isOver: boolean
}

interface CheckpointRow {
  readonly log: number
  readonly checkpointed: number
}

/** What is committed while one fold is synced is left to the next, and the least of all to the event loop. */
const FOLDS_OF_LONG = 3

let database: Database | null = null

/** Returns the pages in the log, as far as known; a failed checkpoint is retried after the next commit. */
function act({ path, worthwhilePages, longPages, isOver }: CheckpointMessage): number {
  if (isOver) {
    database?.close(true)
    return 0
  }
  database ??= new Database(path, { readwrite: true, create: false, strict: true })
  // A connection only sees the current length of the log after a read.
  database.query('SELECT count(*) FROM sqlite_schema').get()
  const status = database.query<CheckpointRow, []>('PRAGMA wal_checkpoint(NOOP)').get()
  const { log, checkpointed } = status ?? { log: 0, checkpointed: 0 }
  // `PASSIVE` folds as far as nobody reads, and waits for nobody.
  const isLong = log >= longPages
  if (!isLong && log - checkpointed < worthwhilePages) return log
  const fold = database.query('PRAGMA wal_checkpoint(PASSIVE)')
  for (let times = isLong ? FOLDS_OF_LONG : 1; times > 0; times--) fold.get()
  return log
}

self.onmessage = ({ data }: MessageEvent<CheckpointMessage>): void => {
  let pages = 0
  try {
    pages = act(data)
  } catch {
    // A failing disk will be reported by the next commit; the log has all data.
  }
  self.postMessage(pages)
}
// Whoever started this waits for a word.
self.postMessage(0)
