/** Whether the disk accepts writes, by the last commit, the free space, where the files are, or a test write. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/errors.ts'
import { type Disk, troubleOf } from './disk.ts'
import { statement } from './statement.ts'

export interface Trouble {
  /** Why the last commit failed; null when it succeeded. Damage lasts as long as the process. */
  readonly failure: StoreTrouble | null
  /** Notes that a commit succeeded (null) or failed. */
  report(found: StoreTrouble | null): void
  /**
   * Why no request may be admitted now, found out once a second at most. Where there was no commit for that long, a write
   * is tried, unless one is waiting to be tried anyway.
   */
  check(somethingWaits: boolean): StoreTrouble | null
}

/** How long a finding holds. */
const VALID_MS = 1_000

export function watchTrouble(database: Database, disk: Disk): Trouble {
  const testWrite = prepareTestWrite(database)
  let failure: StoreTrouble | null = null
  let isShort = false
  let isMoved = false
  let committedMs = Number.NEGATIVE_INFINITY
  let checkedMs = Number.NEGATIVE_INFINITY

  const report = (found: StoreTrouble | null): void => {
    // Damage stays until a backup is restored, even if writes to other pages succeed.
    if (failure === 'damaged') return
    failure = found
    if (found === null) committedMs = performance.now()
  }

  return {
    get failure() {
      return failure
    },
    report: report,
    check(somethingWaits) {
      const nowMs = performance.now()
      if (nowMs - checkedMs >= VALID_MS) {
        checkedMs = nowMs
        isShort = disk.isShort()
        isMoved = disk.isMoved()
        if (!somethingWaits && failure !== 'damaged' && nowMs - committedMs >= VALID_MS)
          report(testWrite())
      }
      if (isMoved) return 'moved'
      return failure ?? (isShort ? 'full' : null)
    },
  }
}

/** Rewrites a page unchanged: why that fails, or null. Another process that holds the lock for a moment is not a failure yet. */
function prepareTestWrite(database: Database): () => StoreTrouble | null {
  const version = statement<{ user_version: number }>(database, 'PRAGMA user_version')
  return () => {
    try {
      database.run(`PRAGMA user_version = ${version().get()?.user_version ?? 0}`)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble === null) throw error
      return trouble === 'locked' ? null : trouble
    }
    return null
  }
}
