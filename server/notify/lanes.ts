/** The lanes: what the courier has in hand, a few at once and one at a time for each destination. */
import type { Instant } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { Bearing } from './bearing.ts'

export interface Errand extends Bearing {
  readonly notice: Notice
  /** Begun later, it might still be on its way when its lease has ended. */
  readonly startBy: Instant
}

export interface Lanes {
  /** How many more may be taken in hand. */
  readonly room: number
  has(notice: Notice): boolean
  add(errand: Errand): void
  /** Begins nothing more. */
  close(): void
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>
}

const MOST_AT_ONCE = 8
/** On their way, or waiting for their destination. */
const MOST_IN_HAND = 64

/** `run` must not throw; `hasRoom` is told when a full hand is full no longer. */
export function openLanes(run: (errand: Errand) => Promise<void>, hasRoom: () => void): Lanes {
  const hand = new Set<string>()
  const waiting: Errand[] = []
  const underWay = new Map<string, Promise<void>>()
  let isOpen = true

  /** Sends off whoever's destination is free. */
  function setOut(): void {
    while (isOpen && underWay.size < MOST_AT_ONCE) {
      const next = waiting.findIndex(({ destination }) => !underWay.has(destination))
      const [errand] = next < 0 ? [] : waiting.splice(next, 1)
      if (errand === undefined) return
      underWay.set(errand.destination, carry(errand))
    }
  }

  async function carry(errand: Errand): Promise<void> {
    await run(errand)
    const wasFull = hand.size === MOST_IN_HAND
    hand.delete(nameOf(errand.notice))
    underWay.delete(errand.destination)
    setOut()
    if (wasFull) hasRoom()
  }

  return {
    get room() {
      return MOST_IN_HAND - hand.size
    },
    has: (notice) => hand.has(nameOf(notice)),
    add(errand) {
      hand.add(nameOf(errand.notice))
      waiting.push(errand)
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
