/** Syncs the write-ahead log to disk off the event loop, so that a power cut loses at most the last moments of charges. */
import { closeSync, fdatasync, openSync } from 'node:fs'

/** A commit reaches the disk within this and the time of one sync, 20 ms in all; a sync costs half a millisecond of CPU. */
const SYNC_DELAY_MS = 16

export interface LogSync {
  /** A commit was written: sync it soon. */
  dirty(): void
  /** Resolves once everything committed so far is on the disk. */
  settled(): Promise<void>
  close(): void
}

/** For a store in memory, which promises nothing about power cuts. */
export const NO_LOG_SYNC: LogSync = { dirty() {}, settled: async () => {}, close() {} }

/**
 * Keeps one descriptor of the log open, and tells by `grown` that there was a commit, once for each sync. Closing it is safe: SQLite locks the main file and the shared memory, never the
 * log, so no lock of the process is dropped.
 */
export function startLogSync(databasePath: string, grown = (): void => {}): LogSync {
  const log = openSync(`${databasePath}-wal`, 'r+')
  let timer: ReturnType<typeof setTimeout> | null = null
  let running: Promise<void> | null = null
  let closed = false

  const sync = (): Promise<void> => {
    if (closed) return Promise.resolve()
    const done = new Promise<void>((resolve, reject) => {
      fdatasync(log, (error) => (error ? reject(error) : resolve()))
    })
    running = done
    const forget = () => {
      if (running === done) running = null
    }
    done.then(forget, forget)
    return done
  }

  return {
    dirty() {
      timer ??= setTimeout(() => {
        timer = null
        grown()
        // A failed sync is tried again with the next commit; the operator's acts await theirs and see the failure.
        sync().catch(() => {})
      }, SYNC_DELAY_MS)
    },
    async settled() {
      // A sync that is already running may have started before the last commit: only a new one covers it.
      if (running) await running.catch(() => {})
      await sync()
    },
    close() {
      closed = true
      if (timer) clearTimeout(timer)
      closeSync(log)
    },
  }
}
