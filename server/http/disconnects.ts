/** Hang-ups: a client that leaves before the first byte of its answer shows on its request's own signal alone. */
import { type Placed, Roster } from '#domain/roster.ts'
import type { RequestContext } from './request-context.ts'
import type { RunningWalk } from './running-walks.ts'

/**
 * How long a request may run unwatched. A signal and its listener cost several microseconds, which an answer that is there
 * sooner need not pay; one that is asked for later tells of a client that left before, too.
 */
const UNWATCHED_MS = 50

export interface Disconnects {
  /** The walk is left when its client leaves; that is noticed after `UNWATCHED_MS` at the latest. */
  watch(context: RequestContext, walk: RunningWalk): void
  /** The walk is over. */
  forget(context: RequestContext): void
}

/** A walk whose client is not listened to yet. */
export interface Unwatched extends Placed {
  readonly context: RequestContext
  readonly walk: RunningWalk
  readonly sinceMs: number
}

export function createDisconnects(): Disconnects {
  const roster = new Roster<Unwatched>()
  let timer: ReturnType<typeof setInterval> | null = null

  const forget = (context: RequestContext): void => {
    if (context.unwatched) roster.remove(context.unwatched)
    context.unwatched = null
  }

  const watchDue = (): void => {
    const dueMs = performance.now() - UNWATCHED_MS
    for (const unwatched of roster.list()) {
      if (unwatched.sinceMs > dueMs) continue
      const { context, walk } = unwatched
      forget(context)
      leaveOnAbort(context.request.signal, walk)
    }
    if (roster.size > 0) return
    if (timer) clearInterval(timer)
    timer = null
  }

  return {
    watch(context, walk) {
      context.unwatched = { place: -1, context, walk, sinceMs: performance.now() }
      roster.add(context.unwatched)
      timer ??= setInterval(watchDue, UNWATCHED_MS).unref()
    },
    forget,
  }
}

function leaveOnAbort(client: AbortSignal, walk: RunningWalk): void {
  if (client.aborted) void walk.leave()
  else client.addEventListener('abort', () => void walk.leave(), { once: true })
}
