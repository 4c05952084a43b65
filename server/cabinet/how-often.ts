/** How often something may be done in a minute: changes, and prompts. Refused attempts do not prolong it. */
import { type Clock, type Instant, MINUTE_MS } from '#domain/clock.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface Most {
  readonly byPerson: number
  readonly byAddress: number
}

/** Every form. */
export const CHANGES: Most = { byPerson: 120, byAddress: 1_200 }
/** Prompts, which are paid for. */
export const TRIES: Most = { byPerson: 10, byAddress: 60 }

/** People, and addresses, that are remembered. */
const MAX_KNOWN = 10_000

/** Counts one; seconds until the next may be asked for, null if this one may. */
export type Count = (personId: PersonId, address: string) => number | null

export function limitPerMinute(clock: Clock, { byPerson, byAddress }: Most): Count {
  const people = countTo(byPerson)
  const addresses = countTo(byAddress)
  return (personId, address) => {
    const at = clock.now()
    const waits = [people(personId, at), addresses(address, at)].filter((wait) => wait !== null)
    return waits.length === 0 ? null : Math.max(...waits)
  }
}

function countTo(most: number): (name: string, at: Instant) => number | null {
  const asked = new Map<string, number[]>()
  return (name, at) => {
    const lately = (asked.get(name) ?? []).filter((when) => when > at - MINUTE_MS && when <= at)
    asked.delete(name)
    const [longestAgo] = asked.keys()
    if (asked.size >= MAX_KNOWN && longestAgo !== undefined) asked.delete(longestAgo)
    const [oldest = at] = lately
    const isOver = lately.length >= most
    asked.set(name, isOver ? lately : [...lately, at])
    return isOver ? Math.max(1, Math.ceil((oldest + MINUTE_MS - at) / 1000)) : null
  }
}
