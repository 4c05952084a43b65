/** Queues of claimed notices: a few deliveries at once, and one at a time per destination. */
import type { Instant } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { Delivery } from './delivery.ts'

export interface DeliveryJob extends Delivery {
  readonly notice: Notice
  /** If it started later, it might exceed its lease. */
  readonly startBy: Instant
}

export interface DeliveryQueues {
  /** How many more notices may be added. */
  readonly room: number
  has(notice: Notice): boolean
  add(job: DeliveryJob): void
  /** Starts no further delivery. */
  close(): void
  /** Resolves when no delivery is in progress. */
  settled(): Promise<void>
}

const MAX_RUNNING = 8
/** In progress, or waiting for their destination. */
const MAX_QUEUED = 64

/** `run` must not throw; `hasRoom` is called when the queues were full and are no longer. */
export function openDeliveryQueues(
  run: (job: DeliveryJob) => Promise<void>,
  hasRoom: () => void,
): DeliveryQueues {
  const queued = new Set<string>()
  const waiting: DeliveryJob[] = []
  const running = new Map<string, Promise<void>>()
  let isOpen = true

  /** Starts every job whose destination is free. */
  function startFree(): void {
    while (isOpen && running.size < MAX_RUNNING) {
      const next = waiting.findIndex(({ destination }) => !running.has(destination))
      const [job] = next < 0 ? [] : waiting.splice(next, 1)
      if (job === undefined) return
      running.set(job.destination, runOne(job))
    }
  }

  async function runOne(job: DeliveryJob): Promise<void> {
    await run(job)
    const wasFull = queued.size === MAX_QUEUED
    queued.delete(nameOf(job.notice))
    running.delete(job.destination)
    startFree()
    if (wasFull) hasRoom()
  }

  return {
    get room() {
      return MAX_QUEUED - queued.size
    },
    has: (notice) => queued.has(nameOf(notice)),
    add(job) {
      queued.add(nameOf(job.notice))
      waiting.push(job)
      startFree()
    },
    close() {
      isOpen = false
    },
    async settled() {
      await Promise.all(running.values())
    },
  }
}

const nameOf = ({ eventId, channel }: Notice): string => `${eventId} ${channel}`
