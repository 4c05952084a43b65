/** Lines of the log that are written behind those which were added up already: of a request that took long, or while the clock was set back. */
import type { GroupCommit } from './group-commit.ts'

/** Whoever has not seen some of more begins anew. */
const MAX_LATE = 20_000

export interface LateLines {
  /** How many there were so far. */
  readonly end: number
  /** How many of those are not kept any more. */
  readonly forgotten: number
  /** Whoever writes a line says so; it counts once its transaction is committed, since one that the disk refuses is written anew. */
  note(id: string): void
  /** All up to this one were added up: from now on one below it is late. */
  watch(id: string): void
  /** Those that came after so many; null where they are not kept. */
  after(seen: number): readonly string[] | null
  /** Nobody asks for the first so many again. */
  forget(seen: number): void
}

export function openLateLines(commit: Pick<GroupCommit, 'atClose'>): LateLines {
  let below = ''
  let noted: string[] = []
  let ids: string[] = []
  let forgotten = 0

  const forget = (seen: number): void => {
    ids = ids.slice(seen - forgotten)
    forgotten = seen
  }

  commit.atClose({
    write() {},
    forget(isCommitted) {
      if (noted.length === 0) return
      if (isCommitted) for (const id of noted) ids.push(id)
      noted = []
      // The older half alone, so that whoever looks often loses nothing.
      if (ids.length > MAX_LATE) forget(forgotten + ids.length - MAX_LATE / 2)
    },
  })

  return {
    get end() {
      return forgotten + ids.length
    },
    get forgotten() {
      return forgotten
    },
    note(id) {
      if (id < below) noted.push(id)
    },
    watch(id) {
      if (id > below) below = id
    },
    after: (seen) => (seen < forgotten ? null : ids.slice(seen - forgotten)),
    forget(seen) {
      if (seen > forgotten) forget(seen)
    },
  }
}
