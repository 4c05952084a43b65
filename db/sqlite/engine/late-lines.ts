/** Lines of the log that are written behind those which were added up already: of a request that took long, or while the clock was set back. */

/** Whoever has not seen some of more begins anew. */
const MAX_LATE = 20_000

export interface LateLines {
  /** How many there were so far. */
  readonly end: number
  /** Whoever writes a line says so. */
  note(id: string): void
  /** All up to this one were added up: from now on one below it is late. */
  watch(id: string): void
  /** Those that came after so many; null where they are not kept. */
  after(seen: number): readonly string[] | null
  /** Nobody asks for the first so many again. */
  forget(seen: number): void
}

export function openLateLines(): LateLines {
  let below = ''
  let ids: string[] = []
  let forgotten = 0

  const forget = (seen: number): void => {
    ids = ids.slice(seen - forgotten)
    forgotten = seen
  }
  return {
    get end() {
      return forgotten + ids.length
    },
    note(id) {
      if (id >= below) return
      ids.push(id)
      if (ids.length > MAX_LATE) forget(forgotten + ids.length)
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
