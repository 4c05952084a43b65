/** Folds the write-ahead log into the database file on a thread of its own: it waits for the disk twice, and no request should. */
import type { Database } from 'bun:sqlite'
import type { CheckpointMessage } from './log-checkpoint-thread.ts'
import { statement } from './statement.ts'

export interface LogCheckpointer {
  /** A commit was written: the log is checked soon. */
  dirty(): void
  /** Resolves once the thread's connection is closed; whoever closes last folds what is left. */
  close(): Promise<void>
}

/** Commits fold it themselves, every thousand pages: for a command, which is over soon, and for a store in memory. */
export const NO_CHECKPOINTER: LogCheckpointer = { dirty() {}, close: async () => {} }

/** How long after a commit the length of the log is checked, and the least time between two folds. */
const CHECK_MS = 250
/** Pages of the log that are worth the two syncs of a fold. */
const WORTHWHILE_PAGES = 1_000
/**
 * A log begins anew only when all of it is folded, which a busy one never is: so of one that has become so long the thread
 * folds all it sees, and the event loop the few pages that were written meanwhile.
 */
const LONG_PAGES = 8_000
/** Should the log grow faster than the thread folds it, or the thread be gone, the commit that passes this folds after all. */
const MOST_PAGES = 24_000

/** In the compiled program the thread's file lies where `scripts/compile.ts` puts it. */
const THREAD = import.meta.url.includes('/$bunfs/')
  ? '/$bunfs/root/db/sqlite/log-checkpoint-thread.js'
  : new URL('./log-checkpoint-thread.ts', import.meta.url).href

/**
 * The thread starts at once, and opens what it needs: one that is to start when the process has no descriptor left ends the
 * process, and any stranger can hold descriptors.
 */
export function startLogCheckpointer(database: Database, path: string): LogCheckpointer {
  const thread = startThread()
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

  database.run(`PRAGMA wal_autocheckpoint = ${MOST_PAGES}`)
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

function startThread(): Thread {
  const worker = new Worker(THREAD)
  let isBroken = false
  let answer = (_pages: number): void => {}
  worker.onmessage = ({ data }: MessageEvent<number>) => answer(data)
  worker.onerror = () => {
    isBroken = true
    answer(0)
  }
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
