/** Queues of claimed notices: a few deliveries at once, one at a time per destination, and none that waits for a slow one. */
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
  /** One for which enough others wait already, while it is slow, is let go: its lease expires, and it is claimed again. */
  add(job: DeliveryJob): void
  /** Starts no further delivery. */
  close(): void
  /** Resolves when no delivery is in progress. */
  settled(): Promise<void>
}

/** Beside those that are slow. */
const MAX_RUNNING = 8
/** In progress, or waiting for their destination. */
const MAX_QUEUED = 64
/** A delivery that has taken so long holds up nobody else. */
const SLOW_MS = 2_000
/** As many as may still be begun within their lease. */
const MAX_WAITING_FOR_SLOW = 4

/** `run` must not throw; `hasRoom` is called when the queues were full and are no longer. */
export function openDeliveryQueues(
  run: (job: DeliveryJob) => Promise<void>,
  hasRoom: () => void,
): DeliveryQueues {
  const queued = new Set<string>()
  const waiting: DeliveryJob[] = []
  const running = new Map<string, Promise<void>>()
  /** Destinations whose delivery in progress takes long. */
  const slow = new Set<string>()
  let isOpen = true

  /** Starts every job whose destination is free. */
  function startFree(): void {
    while (isOpen && running.size - slow.size < MAX_RUNNING) {
      const next = waiting.findIndex(({ destination }) => !running.has(destination))
      const [job] = next < 0 ? [] : waiting.splice(next, 1)
      if (job === undefined) return
      running.set(job.destination, runOne(job))
    }
  }

  async function runOne(job: DeliveryJob): Promise<void> {
    const { destination } = job
    const timer = setTimeout(() => change(() => noteSlow(destination)), SLOW_MS)
    await run(job)
    clearTimeout(timer)
    change(() => {
      queued.delete(nameOf(job.notice))
      running.delete(destination)
      slow.delete(destination)
    })
  }

  function noteSlow(destination: string): void {
    slow.add(destination)
    const own = waiting.filter((job) => job.destination === destination)
    for (const job of own.slice(MAX_WAITING_FOR_SLOW)) {
      waiting.splice(waiting.indexOf(job), 1)
      queued.delete(nameOf(job.notice))
    }
  }

  const isTooMany = ({ destination }: DeliveryJob): boolean =>
    slow.has(destination) &&
    waiting.filter((one) => one.destination === destination).length >= MAX_WAITING_FOR_SLOW

  /** Makes room, for those that wait here and in the outbox. */
  function change(make: () => void): void {
    const wasFull = queued.size === MAX_QUEUED
    make()
    startFree()
    if (wasFull && queued.size < MAX_QUEUED) hasRoom()
  }

  return {
    get room() {
      return MAX_QUEUED - queued.size
    },
    has: (notice) => queued.has(nameOf(notice)),
    add(job) {
      if (isTooMany(job)) return
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
