/** The teller: raises and lifts causes for those who look at the same trouble again and again, and writes only what changes. */
import { CAUSES, type CauseFacts, type CauseName } from '#domain/cause.ts'
import type { Clock } from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import type { EventId } from '#domain/id.ts'
import type { Store } from '#domain/store.ts'

/** Throws `store_unavailable` while the disk takes no writes; what was not told is told by the next call. */
export interface Teller {
  raise<Name extends CauseName>(cause: Name, facts: CauseFacts[Name]): Promise<void>
  /** Ends what lasts, and raises `then` with it; nothing where none is open. */
  lift(cause: CauseName, subject: string, then?: RaisedEvent): Promise<void>
  /** The events of a cause that lasts, which are open, by subject. */
  open(cause: CauseName): ReadonlyMap<string, EventId>
}

const MAX_OPEN = 10_000

/** What an earlier process has raised is open still. */
export async function startTeller(events: Store['events'], clock: Clock): Promise<Teller> {
  const told = new Map<CauseName, Map<string, EventId>>()
  const toldOf = (cause: CauseName): Map<string, EventId> => {
    const known = told.get(cause) ?? new Map<string, EventId>()
    told.set(cause, known)
    return known
  }
  for (const { cause, subject, id } of await events.list({ openOnly: true, limit: MAX_OPEN })) {
    toldOf(cause).set(subject, id)
  }

  return {
    async raise(cause, facts) {
      if (toldOf(cause).has(CAUSES[cause].subject(facts))) return
      const event = draftEvent(cause, facts, clock.now())
      await events.raise(event, null)
      toldOf(cause).set(event.subject, event.id)
    },
    async lift(cause, subject, then) {
      if (!toldOf(cause).has(subject)) return
      await events.lift(cause, subject, clock.now(), then ?? null)
      toldOf(cause).delete(subject)
    },
    open: toldOf,
  }
}
