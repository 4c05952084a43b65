/** Runs WAL checkpoints on a separate thread, because each waits for two syncs, which would block requests. */
import type { Database } from 'bun:sqlite'
import type { CheckpointMessage } from './log-checkpoint-thread.ts'
import { statement } from './statement.ts'

export interface LogCheckpointer {
  /** There were commits: the log is checked soon. */
  dirty(): void
  /** Resolves once the thread's connection is closed; the last connection to close checkpoints the rest. */
  close(): Promise<void>
}

/** For short commands and in-memory stores: commits run automatic checkpoints every thousand pages. */
export const NO_CHECKPOINTER: LogCheckpointer = { dirty() {}, close: async () => {} }

/** How long after a commit the length of the log is checked, and the least time between two folds. */
const CHECK_MS = 250
/** Pages of the log that are worth the two syncs of a fold. */
const WORTHWHILE_PAGES = 1_000
/**
 * The log restarts only after a complete checkpoint, which never happens under load. From this length on, the thread
 * checkpoints all it sees, and the event loop the few pages written meanwhile.
 */
const LONG_PAGES = 8_000
/** If the log grows faster than the thread works, or the thread has failed, the commit that exceeds this runs a checkpoint. */
const MAX_PAGES = 24_000

/** In the compiled program the thread's file lies where `scripts/compile.ts` puts it. */
const THREAD = import.meta.url.includes('/$bunfs/')
  ? '/$bunfs/root/db/sqlite/engine/log-checkpoint-thread.js'
  : new URL('./log-checkpoint-thread.ts', import.meta.url).href

/**
 * Starts the thread at once, because starting one without a free file descriptor ends the process, and clients can use up
 * descriptors.
 * @throws when there is no such thread: commits would wait for folds, and nobody would know why
 */
export async function startLogCheckpointer(
  database: Database,
  path: string,
): Promise<LogCheckpointer> {
  const thread = await startThread()
  let timer: ReturnType<typeof setTimeout> | null = null
  let checking: Promise<void> | null = null
  let isOver = false
  /** Whether more was committed while the thread checked. */
  let isDirty = false
  const asked = { path, worthwhilePages: WORTHWHILE_PAGES, longPages: LONG_PAGES }
  const checkpointRest = statement(database, 'PRAGMA wal_checkpoint(PASSIVE)')

  const check = async (): Promise<void> => {
    const pages = await thread.post({ ...asked, isOver: false })
    checking = null
    if (isDirty) scheduleCheck()
    if (pages < LONG_PAGES || isOver) return
    try {
      checkpointRest().run()
    } catch {
      // A disk that takes nothing will be found out by whoever commits; the log has everything.
    }
  }

  const scheduleCheck = (): void => {
    if (isOver) return
    isDirty = checking !== null
    if (isDirty) return
    timer ??= setTimeout(() => {
      timer = null
      checking = check()
    }, CHECK_MS)
  }

  database.run(`PRAGMA wal_autocheckpoint = ${MAX_PAGES}`)
  checking = check()
  return {
    dirty: scheduleCheck,
    async close() {
      isOver = true
      if (timer) clearTimeout(timer)
      await checking
      await thread.post({ ...asked, isOver })
      thread.end()
    },
  }
}

interface Thread {
  /** Resolves when that was done, or tried: how many pages the log has, as far as is known. One at a time. */
  post(message: CheckpointMessage): Promise<number>
  end(): void
}

async function startThread(): Promise<Thread> {
  const worker = new Worker(THREAD)
  const { promise: listens, resolve, reject } = Promise.withResolvers<number>()
  let isBroken = false
  let answer = resolve
  worker.onmessage = ({ data }: MessageEvent<number>) => answer(data)
  worker.onerror = ({ message }) => {
    isBroken = true
    reject(new Error(`the thread that folds the write-ahead log does not start: ${message}`))
    answer(0)
  }
  await listens
  return {
    post(message) {
      if (isBroken) return Promise.resolve(0)
      const { promise, resolve } = Promise.withResolvers<number>()
      answer = resolve
      worker.postMessage(message)
      return promise
    },
    end: () => worker.terminate(),
  }
}
