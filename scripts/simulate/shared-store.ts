/** The store that all nodes share, and its failover. */
import { copyBooks, emptyBooks } from './books.ts'
import type { Setting } from './policy.ts'

/** How long the store takes for one script; it runs one at a time. */
const SCRIPT_MS = 0.02

/** Starts with empty books. Its replica is behind, and takes over with what had reached it. */
export function startShared({ timeline }: Setting) {
  let books = emptyBooks()
  let isUp = true
  let busyUntilMs = 0
  return {
    get books() {
      return books
    },
    get isUp() {
      return isUp
    },
    /** Runs a script when its turn comes. */
    run(script: () => void): void {
      const startMs = Math.max(timeline.nowMs, busyUntilMs)
      busyUntilMs = startMs + SCRIPT_MS
      timeline.after(busyUntilMs - timeline.nowMs, script)
    },
    failOver(outageMs: number, lagMs: number): void {
      const survivor = copyBooks(books)
      timeline.after(lagMs, () => {
        isUp = false
      })
      timeline.after(lagMs + outageMs, () => {
        books = survivor
        isUp = true
      })
    },
  }
}
