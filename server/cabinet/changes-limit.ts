/** How many changes a person may ask for in a minute, refused ones included. */
import { type Clock, MINUTE_MS } from '#domain/clock.ts'
import type { PersonId } from '#signin/register/person.ts'

const MAX_CHANGES = 120
const MAX_PEOPLE = 10_000

/** Counts one; seconds until the next may be asked for, null if this one may. */
export type CountChange = (personId: PersonId) => number | null

export function limitChanges(clock: Clock): CountChange {
  const asked = new Map<PersonId, number[]>()
  return (personId) => {
    const at = clock.now()
    const lately = (asked.get(personId) ?? []).filter((when) => when > at - MINUTE_MS && when <= at)
    asked.delete(personId)
    if (asked.size >= MAX_PEOPLE) asked.delete([...asked.keys()][0] as PersonId)
    const [oldest = at] = lately
    const isOver = lately.length >= MAX_CHANGES
    asked.set(personId, isOver ? lately : [...lately, at])
    return isOver ? Math.max(1, Math.ceil((oldest + MINUTE_MS - at) / 1000)) : null
  }
}
