/** What is known of whether writes are taken: by the last commit, by the room that is left, or by a write that changes nothing. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/store.ts'
import { type Disk, troubleOf } from './disk.ts'
import { statement } from './statement.ts'

export interface Trouble {
  /** What the last commit was refused for; null when it was taken. Damage stays for as long as the process. */
  readonly failure: StoreTrouble | null
  /** A commit was taken (null) or refused. */
  tell(found: StoreTrouble | null): void
  /**
   * Why nothing may be begun now, found out once a second at most. Where no commit has told for that long, a write is
   * tried, unless something waits to be tried anyway.
   */
  look(somethingWaits: boolean): StoreTrouble | null
}

/** How long it is believed what was last found out. */
const BELIEVED_MS = 1_000

export function watchTrouble(database: Database, disk: Disk): Trouble {
  const touch = prepareTouch(database)
  let failure: StoreTrouble | null = null
  let isShort = false
  let committedMs = Number.NEGATIVE_INFINITY
  let lookedMs = Number.NEGATIVE_INFINITY

  const tell = (found: StoreTrouble | null): void => {
    // Another page may be whole; this one stays as it is until somebody brings a backup.
    if (failure === 'damaged') return
    failure = found
    if (found === null) committedMs = performance.now()
  }

  return {
    get failure() {
      return failure
    },
    tell,
    look(somethingWaits) {
      const nowMs = performance.now()
      if (nowMs - lookedMs >= BELIEVED_MS) {
        lookedMs = nowMs
        isShort = disk.isShort()
        if (!somethingWaits && failure !== 'damaged' && nowMs - committedMs >= BELIEVED_MS)
          tell(touch())
      }
      return failure ?? (isShort ? 'full' : null)
    },
  }
}

/** Writes a page as it is: what that is refused for, or null. Whoever only holds the lock for a moment is no trouble yet. */
function prepareTouch(database: Database): () => StoreTrouble | null {
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
