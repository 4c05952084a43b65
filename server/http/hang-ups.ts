/** Hang-ups: a client that leaves before the first byte of its answer shows on its request's own signal alone. */
import type { RunningWalk } from './running-walks.ts'

/**
 * How long a request may run unwatched. A signal and its listener cost several microseconds, which an answer that is there
 * sooner need not pay; one that is asked for later tells of a client that left before, too.
 */
const UNWATCHED_MS = 50

export interface HangUps {
  /** From now on, or from soon on, the walk is left when its client leaves. */
  watch(walk: RunningWalk, request: Request): void
  /** The walk is over. */
  forget(walk: RunningWalk): void
}

interface Unwatched {
  readonly request: Request
  readonly sinceMs: number
}

export function createHangUps(): HangUps {
  /** Oldest first. */
  const unwatched = new Map<RunningWalk, Unwatched>()
  let timer: ReturnType<typeof setInterval> | null = null

  const look = (): void => {
    const dueMs = performance.now() - UNWATCHED_MS
    for (const [walk, { request, sinceMs }] of unwatched) {
      if (sinceMs > dueMs) return
      unwatched.delete(walk)
      leaveWith(request.signal, walk)
    }
    if (timer) clearInterval(timer)
    timer = null
  }

  return {
    watch(walk, request) {
      unwatched.set(walk, { request, sinceMs: performance.now() })
      timer ??= setInterval(look, UNWATCHED_MS).unref()
    },
    forget(walk) {
      unwatched.delete(walk)
    },
  }
}

function leaveWith(client: AbortSignal, walk: RunningWalk): void {
  if (client.aborted) void walk.leave()
  else client.addEventListener('abort', () => void walk.leave(), { once: true })
}
