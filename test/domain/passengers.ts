/** Many that pass through whatever holds those under way, a few at once, while the young are collected. */
import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { expect } from 'vitest'
import type { Placed } from '#domain/roster.ts'

export class Passenger implements Placed {
  place = -1
  readonly id: string
  /** Counted by its kind of object, which the collector tells. */
  readonly luggage = new DataView(new ArrayBuffer(8))
  constructor(id: number) {
    this.id = `passenger ${id}`
  }
}

const AT_ONCE = 30
export const PASSING = 6_000
const COLLECTED_EVERY = 1_000

/** How many are left of those that passed, while the last few are still there. */
export function pass(add: (one: Passenger) => void, remove: (one: Passenger) => void): number {
  const present: Passenger[] = []
  fullGC()
  const before = heapStats().objectTypeCounts['DataView'] ?? 0
  for (let id = 1; id <= PASSING; id++) {
    const one = new Passenger(id)
    add(one)
    present.push(one)
    const left = present.length > AT_ONCE && present.shift()
    if (left) remove(left)
    if (id % COLLECTED_EVERY === 0) edenGC()
  }
  expect(present).toHaveLength(AT_ONCE)
  return (heapStats().objectTypeCounts['DataView'] ?? 0) - before
}
/** Those that were there at a collection are old; so are a few more, by way of what grew before it. */
export const FEW = (PASSING / COLLECTED_EVERY) * AT_ONCE * 5
