/** The tracer: collects ended requests for some seconds and posts their spans in batches (OTLP over HTTP, JSON). */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Clock } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { within } from '#domain/within.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import { type Attribute, attributes, toSpans } from './spans.ts'
import { readTraceparent, type TraceParent } from './traceparent.ts'

export interface TraceTarget {
  /** Such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string
  /** Headers required by the receiver, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
}

export interface TracerDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly version: string
  /** Called when spans are dropped; the receiver's answer is not included. */
  logFault(cause: unknown): void
}

export interface Tracer {
  ended(entry: ActivityEntry): void
  /** Sets a request's parent span, before or shortly after the request ended. */
  join(id: GenerationId, traceparent: string): void
  /** Posts what is pending, for at most three seconds. */
  stop(): Promise<void>
}

/** Beyond it further requests are dropped, and the drop is logged. */
const MAX_PENDING = 8_192
const MAX_PER_BATCH = 512
const MAX_PARENTS = 10_000
const FLUSH_MS = 2_000
/** A whole answer ends before its response is sent, and `join` is called only then. */
const SETTLE_MS = 500
const POST_TIMEOUT_MS = 5_000
const MAX_ATTEMPTS = 3
const RETRY_MS = 500
/** A receiver that hangs must not delay the shutdown. */
const STOP_TIMEOUT_MS = 3_000

interface PendingEntry {
  readonly entry: ActivityEntry
  readonly sinceMs: number
  parent: TraceParent | null
}

export function startTracer(target: TraceTarget, deps: TracerDeps): Tracer {
  const { clock } = deps
  const pending = new TransientMap<GenerationId, PendingEntry>()
  const parents = new TransientMap<GenerationId, TraceParent>()
  const stopped = new AbortController()
  const post = createPoster(target, deps, stopped.signal)
  let dropped = 0
  let timer: ReturnType<typeof setTimeout> | null = null
  let flushing: Promise<void> | null = null

  const take = (endedBeforeMs: number): readonly PendingEntry[] => {
    const due: PendingEntry[] = []
    for (const [id, one] of pending) {
      if (due.length === MAX_PER_BATCH || one.sinceMs > endedBeforeMs) break
      due.push(one)
      pending.take(id)
    }
    return due
  }

  const flush = async (isLast: boolean): Promise<void> => {
    for (;;) {
      const due = take(isLast ? Number.POSITIVE_INFINITY : clock.monotonicMs() - SETTLE_MS)
      if (due.length === 0) break
      const missed = await post(due)
      dropped += missed
    }
    // `stop` reports those that it drops itself.
    if (dropped > 0 && !stopped.signal.aborted) {
      deps.logFault(new Error(`${dropped} traced requests were lost: ${target.url}`))
    }
    dropped = 0
  }

  const arm = (): void => {
    if (timer !== null || flushing !== null) return
    timer = setTimeout(() => {
      timer = null
      flushing = flush(false).finally(() => {
        flushing = null
        if (pending.size > 0) arm()
      })
    }, FLUSH_MS)
    timer.unref()
  }

  return {
    ended(entry) {
      const parent = parents.take(entry.generationId) ?? null
      if (pending.size >= MAX_PENDING) dropped++
      else pending.set(entry.generationId, { entry, sinceMs: clock.monotonicMs(), parent })
      arm()
    },
    join(id, traceparent) {
      const parent = readTraceparent(traceparent)
      if (parent === null) return
      const one = pending.get(id)
      if (one) {
        one.parent = parent
        return
      }
      parents.set(id, parent)
      // A replayed (idempotent) answer never reaches `ended`, so that its parent would stay.
      if (parents.size > MAX_PARENTS) forgetOldest(parents)
    },
    async stop() {
      if (timer !== null) clearTimeout(timer)
      const flushed = async (): Promise<void> => {
        await flushing
        await flush(true)
      }
      if (await within(flushed(), STOP_TIMEOUT_MS)) return
      stopped.abort()
      deps.logFault(new Error(`the last traced requests were lost: ${target.url}`))
    },
  }
}

function forgetOldest(parents: TransientMap<GenerationId, TraceParent>): void {
  for (const [id] of parents) {
    parents.take(id)
    return
  }
}

/** Returns a function that posts one batch and resolves to the number of dropped requests. */
function createPoster(
  { url, headers, serviceName }: TraceTarget,
  { version, clock }: TracerDeps,
  stopped: AbortSignal,
) {
  const resource: readonly Attribute[] = attributes({
    'service.name': serviceName,
    'service.version': version,
  })
  const scope = { name: 'gatewayctl', version }
  let pausedUntilMs = Number.NEGATIVE_INFINITY

  return async (batch: readonly PendingEntry[]): Promise<number> => {
    const sampled = batch.filter(({ parent }) => parent === null || parent.isSampled)
    if (sampled.length === 0) return 0
    // After a failed batch the next ones are dropped for a while instead of retried.
    if (clock.monotonicMs() < pausedUntilMs) return sampled.length
    const spans = sampled.flatMap(({ entry, parent }) => toSpans(entry, parent))
    const body = JSON.stringify({
      resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }],
    })
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const status = await send(url, headers, body, stopped)
      if (stopped.aborted) break
      if (status >= 200 && status < 300) return 0
      if (status !== 0 && ![429, 502, 503, 504].includes(status)) break
      if (attempt < MAX_ATTEMPTS)
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS * attempt))
    }
    pausedUntilMs = clock.monotonicMs() + POST_TIMEOUT_MS
    return sampled.length
  }
}

/** The status; 0 without an answer. */
async function send(
  url: string,
  headers: TraceTarget['headers'],
  body: string,
  stopped: AbortSignal,
): Promise<number> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopped, AbortSignal.timeout(POST_TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return response.status
  } catch {
    return 0
  }
}
