/** Delivers what waits in the store: a few at once, each leased meanwhile, until it is closed. */
import { type Clock, type Instant, later } from '#domain/clock.ts'
import { within } from '#domain/within.ts'
import { createWaker } from '#notify/waker.ts'

export interface OutboxOptions<Waiting> {
  readonly clock: Clock
  /** Longer than an attempt; what a killed process had leased waits until then. */
  readonly leaseMs: number
  /** The longest sleep while nothing is due; `wake` ends it. */
  readonly maxSleepMs: number
  claim(
    at: Instant,
    leaseUntil: Instant,
    limit: number,
  ): Promise<{ readonly waiting: readonly Waiting[]; readonly nextAt: Instant | null }>
  /** One attempt and its record. @throws what is for the operator's log */
  deliver(waiting: Waiting, cut: AbortSignal): Promise<void>
  logFault(cause: unknown): void
}

export interface Outbox {
  /** Says that something is due. */
  wake(): void
  /** Waits briefly for attempts in progress; what is left is delivered after the next start. */
  close(): Promise<void>
}

const STOP_TIMEOUT_MS = 2_000
const MAX_AT_ONCE = 8
/** The interval while attempts are in progress, and the shortest. */
const POLL_MS = 1_000

export function runOutbox<Waiting>(options: OutboxOptions<Waiting>): Outbox {
  const { clock, leaseMs, maxSleepMs, claim, deliver, logFault } = options
  const cut = new AbortController()
  const waker = createWaker()
  const inProgress = new Set<Promise<void>>()
  let isClosed = false

  /** Starts what is due; returns how long to sleep. */
  const deliverDue = async (): Promise<number> => {
    const [at, free] = [clock.now(), MAX_AT_ONCE - inProgress.size]
    if (free === 0) return POLL_MS
    const claimed = await claim(at, later(at, leaseMs), free)
    for (const waiting of claimed.waiting) {
      const delivery = deliver(waiting, cut.signal)
        .catch(logFault)
        .finally(() => {
          inProgress.delete(delivery)
          waker.wake()
        })
      inProgress.add(delivery)
    }
    if (inProgress.size > 0) return POLL_MS
    if (claimed.nextAt === null) return maxSleepMs
    return Math.min(Math.max(claimed.nextAt - clock.now(), POLL_MS), maxSleepMs)
  }

  const run = async (): Promise<void> => {
    while (!isClosed) {
      const restMs = await deliverDue().catch((cause) => {
        logFault(cause)
        return FAULT_REST_MS
      })
      await waker.sleep(restMs)
    }
  }

  const running = run()
  return {
    wake: waker.wake,
    async close() {
      isClosed = true
      waker.wake()
      await running
      const delivered = Promise.all(inProgress)
      if (!(await within(delivered, STOP_TIMEOUT_MS))) cut.abort()
      await delivered
    },
  }
}

/** After a failure of our own, which may last. */
const FAULT_REST_MS = 60_000
