/** The courier: delivers the notices in the outbox and records the outcomes; each at least once. */
import { type Instant, later } from '#domain/clock.ts'
import type { Channel, DeliveryTry, Notice } from '#domain/notice.ts'
import { within } from '#domain/within.ts'
import { type DeliveryDeps, prepareDelivery } from './delivery.ts'
import { type DeliveryJob, openDeliveryQueues } from './delivery-queues.ts'
import { unanswered } from './outcome.ts'
import { followUp } from './schedule.ts'
import { createWaker } from './waker.ts'

export interface CourierOptions extends DeliveryDeps {
  /** The time limit of one attempt; by default 15 s (contract §9). */
  readonly tryMs?: number
  /** Hears of every attempt, before it is recorded. */
  readonly tried?: (channel: Channel, attempt: DeliveryTry) => void
  /** Logs an internal error. */
  readonly logFault?: (cause: unknown) => void
}

export interface Courier {
  /** Reads the outbox now instead of within a second. */
  wake(): void
  /** Starts no further delivery, and waits a few seconds for those in progress; unfinished ones are retried later. */
  stop(): Promise<void>
}

const TRY_MS = 15_000
/** The lease of a notice; if the courier dies, the lease expires. */
const LEASE_MS = 30_000
/** Time at the end of a lease for recording the outcome. */
const RECORDING_MS = 2_000
const POLL_MS = 1_000
const STOP_TIMEOUT_MS = 5_000
/** How long aborted deliveries may take to end. */
const ABORT_WAIT_MS = 1_000

/** Runs until it is stopped. */
export function startCourier(options: CourierOptions): Courier {
  const { store, clock, tryMs = TRY_MS, logFault = () => {} } = options
  const cut = new AbortController()
  const waker = createWaker()
  const queues = openDeliveryQueues(
    (job) => tryOnce(options, job, tryMs, cut.signal).catch(logFault),
    waker.wake,
  )
  let isStopped = false

  /** Claims due notices; true if there may be more. */
  async function collect(): Promise<boolean> {
    const { room } = queues
    if (room === 0) return false
    const leaseUntil = later(clock.now(), LEASE_MS)
    const taken = await store.notices.claim(clock.now(), leaseUntil, room)
    const startBy = later(leaseUntil, -tryMs - RECORDING_MS)
    for (const notice of taken) {
      // An operator redelivered a notice that is already being delivered: the current attempt counts for both.
      if (!queues.has(notice)) queues.add(await toJob(options, notice, startBy))
    }
    return taken.length === room
  }

  async function run(): Promise<void> {
    const reportFault = reportOnce(logFault)
    while (!isStopped) {
      let isMore = false
      try {
        isMore = await collect()
        reportFault(null)
      } catch (cause) {
        reportFault(cause)
      }
      if (!isMore) await waker.sleep(POLL_MS)
    }
  }

  const running = run()
  const settled = async (): Promise<void> => {
    await running
    await queues.settled()
  }
  return {
    wake: waker.wake,
    async stop() {
      isStopped = true
      queues.close()
      waker.wake()
      if (await within(settled(), STOP_TIMEOUT_MS)) return
      cut.abort()
      await within(settled(), ABORT_WAIT_MS)
    },
  }
}

/** If the destination cannot be determined, the attempt fails. */
async function toJob(
  options: CourierOptions,
  notice: Notice,
  startBy: Instant,
): Promise<DeliveryJob> {
  try {
    return { notice, startBy, ...(await prepareDelivery(options, notice)) }
  } catch (cause) {
    options.logFault?.(cause)
    const { eventId: destination } = notice
    return { notice, startBy, destination, deliver: async () => unanswered('internal') }
  }
}

/** One attempt and its record. If it starts too late, or is aborted by our own stop, nothing is recorded and the lease expires. */
async function tryOnce(
  { store, clock, tried, logFault }: CourierOptions,
  { notice, startBy, deliver }: DeliveryJob,
  tryMs: number,
  cut: AbortSignal,
): Promise<void> {
  const at = clock.now()
  if (at > startBy) return
  const startedMs = performance.now()
  const outcome = await deliver(AbortSignal.any([cut, AbortSignal.timeout(tryMs)])).catch(
    (cause) => {
      logFault?.(cause)
      return unanswered('internal')
    },
  )
  const { status, failure } = outcome
  if (failure !== null && cut.aborted) return
  const attempt = { at, status, failure, ms: Math.round(performance.now() - startedMs) }
  const then = followUp(notice.tries, outcome, clock.now())
  tried?.(notice.channel, attempt)
  await store.notices.tried(notice.eventId, notice.channel, attempt, then)
}

/** Reports a persistent error once instead of every second; null resets it. */
function reportOnce(report: (cause: unknown) => void): (cause: unknown) => void {
  let isReported = false
  return (cause) => {
    if (cause !== null && !isReported) report(cause)
    isReported = cause !== null
  }
}
