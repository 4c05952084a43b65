/** The lanes: what the courier has in hand, a few at once and one at a time for each destination. */
import type { Instant } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { Delivery } from './delivery.ts'

export interface DeliveryJob extends Delivery {
  readonly notice: Notice
  /** Begun later, it might still be on its way when its lease has ended. */
  readonly startBy: Instant
}

export interface Lanes {
  /** How many more may be taken in hand. */
  readonly room: number
  has(notice: Notice): boolean
  add(job: DeliveryJob): void
  /** Begins nothing more. */
  close(): void
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>
}

const MOST_AT_ONCE = 8
/** On their way, or waiting for their destination. */
const MOST_IN_HAND = 64

/** `run` must not throw; `hasRoom` is told when a full hand is full no longer. */
export function openLanes(run: (job: DeliveryJob) => Promise<void>, hasRoom: () => void): Lanes {
  const hand = new Set<string>()
  const waiting: DeliveryJob[] = []
  const underWay = new Map<string, Promise<void>>()
  let isOpen = true

  /** Sends off whoever's destination is free. */
  function setOut(): void {
    while (isOpen && underWay.size < MOST_AT_ONCE) {
      const next = waiting.findIndex(({ destination }) => !underWay.has(destination))
      const [job] = next < 0 ? [] : waiting.splice(next, 1)
      if (job === undefined) return
      underWay.set(job.destination, carry(job))
    }
  }

  async function carry(job: DeliveryJob): Promise<void> {
    await run(job)
    const wasFull = hand.size === MOST_IN_HAND
    hand.delete(nameOf(job.notice))
    underWay.delete(job.destination)
    setOut()
    if (wasFull) hasRoom()
  }

  return {
    get room() {
      return MOST_IN_HAND - hand.size
    },
    has: (notice) => hand.has(nameOf(notice)),
    add(job) {
      hand.add(nameOf(job.notice))
      waiting.push(job)
      setOut()
    },
    close() {
      isOpen = false
    },
    async settled() {
      await Promise.all(underWay.values())
    },
  }
}

const nameOf = ({ eventId, channel }: Notice): string => `${eventId} ${channel}`
