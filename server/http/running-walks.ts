/** All requests to models in progress, and when the client of one has left. */
import type { Walk } from '#domain/walk/walk.ts'
import { Roster } from '#runtime/short-lived.ts'

/**
 * How long a walk runs before its client is watched, twice that at most. A listener of a request's signal takes several
 * microseconds, which fast answers save; a signal created later also reports an earlier disconnect.
 */
const UNWATCHED_MS = 50

export class RunningWalks {
  /** The highest number at once so far. */
  peak = 0
  private readonly walks = new Roster<Walk>()
  private timer: ReturnType<typeof setInterval> | null = null
  private waiting: (() => void)[] = []

  /** From its start, before it runs, until it has ended. */
  add(walk: Walk): void {
    this.walks.add(walk)
    walk.ended = this.remove
    if (this.walks.size > this.peak) this.peak = this.walks.size
    this.timer ??= setInterval(this.watchClients, UNWATCHED_MS).unref()
  }

  private readonly remove = (walk: Walk): void => {
    this.walks.remove(walk)
    if (this.walks.size > 0) return
    for (const resolve of this.waiting) resolve()
    this.waiting = []
  }

  /** Oldest first. */
  list(): readonly Walk[] {
    return this.walks.list().toSorted(byArrival)
  }

  get count(): number {
    return this.walks.size
  }

  /** Resolves once no walk runs and all are settled. */
  settled(): Promise<void> {
    return this.count === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.waiting.push(resolve))
  }

  private readonly watchClients = (): void => {
    for (const walk of this.walks.list()) {
      if (walk.isYoung) walk.isYoung = false
      else walk.watchClient()
    }
    if (this.walks.size > 0 || this.timer === null) return
    clearInterval(this.timer)
    this.timer = null
  }
}

const byArrival = (one: Walk, other: Walk): number => one.caller.arrivedMs - other.caller.arrivedMs
