/** Many short-lived objects that pass through a collection, a few at a time, while the garbage collector runs. */
import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { expect } from 'vitest'
import type { Placed } from '#runtime/short-lived.ts'

export class Transient implements Placed {
  place = -1
  readonly id: string
  /** The heap statistics count objects by type, so each has one of a type that nothing else here uses. */
  readonly counted = new DataView(new ArrayBuffer(8))
  constructor(id: number) {
    this.id = `transient ${id}`
  }
}

const AT_ONCE = 30
export const TRANSIENTS = 6_000
const COLLECTED_EVERY = 1_000

/** How many of them are still on the heap after the last young collection. */
export function passThrough(
  add: (one: Transient) => void,
  remove: (one: Transient) => void,
): number {
  const present: Transient[] = []
  fullGC()
  const before = heapStats().objectTypeCounts['DataView'] ?? 0
  for (let id = 1; id <= TRANSIENTS; id++) {
    const one = new Transient(id)
    add(one)
    present.push(one)
    const oldest = present.length > AT_ONCE && present.shift()
    if (oldest) remove(oldest)
    if (id % COLLECTED_EVERY === 0) edenGC()
  }
  expect(present).toHaveLength(AT_ONCE)
  return (heapStats().objectTypeCounts['DataView'] ?? 0) - before
}

/** A member that is present during a collection is promoted; a table that was replaced may promote a few more. */
export const MAX_RETAINED = (TRANSIENTS / COLLECTED_EVERY) * AT_ONCE * 5
