/** Long work is done in pieces, and requests pass between two of them. */

/** Resolves once everything that waits for this thread has had its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A turn in which nobody else did anything takes less. */
const IDLE_MS = 0.05
/** So long until it is looked again: turns of nothing would come between those that gather what requests write. */
const PAUSE_MS = 1
/** A thread that is never idle is given way to for so long. */
const MOST_MS = 5

/** For work that only looks: resolves in a turn in which nobody else has anything to do, after some milliseconds at the latest. */
export const idleTurn = (): Promise<void> =>
  new Promise((resolve) => {
    const begunMs = performance.now()
    const look = (beforeMs: number): void => {
      const nowMs = performance.now()
      const isFree = nowMs - beforeMs < IDLE_MS || nowMs - begunMs >= MOST_MS
      if (isFree) resolve()
      else setTimeout(() => setImmediate(look, performance.now()), PAUSE_MS)
    }
    setImmediate(look, begunMs)
  })
