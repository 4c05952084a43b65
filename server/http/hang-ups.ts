/** Hang-ups: a client that leaves before the first byte of its answer shows on its request's own signal alone. */
import { type Placed, Roster } from '#domain/roster.ts'
import type { RunningWalk } from './running-walks.ts'
import type { Visit } from './visit.ts'

/**
 * How long a request may run unwatched. A signal and its listener cost several microseconds, which an answer that is there
 * sooner need not pay; one that is asked for later tells of a client that left before, too.
 */
const UNWATCHED_MS = 50

export interface HangUps {
  /** From now on, or from soon on, the walk is left when its client leaves. */
  watch(visit: Visit, walk: RunningWalk): void
  /** The walk is over. */
  forget(visit: Visit): void
}

/** A walk whose client is not listened to yet. */
export interface Unwatched extends Placed {
  readonly visit: Visit
  readonly walk: RunningWalk
  readonly sinceMs: number
}

export function createHangUps(): HangUps {
  const roster = new Roster<Unwatched>()
  let timer: ReturnType<typeof setInterval> | null = null

  const forget = (visit: Visit): void => {
    if (visit.unwatched) roster.remove(visit.unwatched)
    visit.unwatched = null
  }

  const look = (): void => {
    const dueMs = performance.now() - UNWATCHED_MS
    for (const unwatched of roster.list()) {
      if (unwatched.sinceMs > dueMs) continue
      const { visit, walk } = unwatched
      forget(visit)
      leaveWith(visit.request.signal, walk)
    }
    if (roster.size > 0) return
    if (timer) clearInterval(timer)
    timer = null
  }

  return {
    watch(visit, walk) {
      visit.unwatched = { place: -1, visit, walk, sinceMs: performance.now() }
      roster.add(visit.unwatched)
      timer ??= setInterval(look, UNWATCHED_MS).unref()
    },
    forget,
  }
}

function leaveWith(client: AbortSignal, walk: RunningWalk): void {
  if (client.aborted) void walk.leave()
  else client.addEventListener('abort', () => void walk.leave(), { once: true })
}
