/** Disconnects: before the first byte of an answer, only the request's own signal shows that the client has disconnected. */
import { type Placed, Roster } from '#runtime/short-lived.ts'
import type { RequestContext } from './request-context.ts'
import type { RunningWalk } from './running-walks.ts'

/**
 * How long a request runs before its signal is watched. Creating a signal and its listener takes several microseconds, which
 * fast answers save; a signal created later also reports an earlier disconnect.
 */
const UNWATCHED_MS = 50

export interface Disconnects {
  /** Leaves the walk when its client disconnects, `UNWATCHED_MS` later at most. */
  watch(context: RequestContext, walk: RunningWalk): void
  /** Called when the walk has ended. */
  forget(context: RequestContext): void
}

/** A walk whose request signal is not watched yet. */
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
    // Else the walk, with its request and its answer, would stay in memory until a slow client has read the answer.
    context.unwatch?.()
    context.unwatch = null
  }

  const watchDue = (): void => {
    const dueMs = performance.now() - UNWATCHED_MS
    for (const unwatched of roster.list()) {
      if (unwatched.sinceMs > dueMs) continue
      const { context, walk } = unwatched
      forget(context)
      context.unwatch = leaveOnAbort(context.request.signal, walk)
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

/** Returns what ends it. */
function leaveOnAbort(client: AbortSignal, walk: RunningWalk): () => void {
  const leave = (): void => void walk.leave()
  if (client.aborted) leave()
  else client.addEventListener('abort', leave, { once: true })
  return () => client.removeEventListener('abort', leave)
}
