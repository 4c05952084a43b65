/** Calls a listener when a request ends: each is either admitted and settled, or refused and logged. */
import type { ActivityEntry } from '../activity.ts'
import type { Clock, Instant } from '../clock.ts'
import type { Store } from '../store.ts'

/** Wraps a store so that `onEnding` is called once for every ending, before it is committed. */
export const withEndingListener = <Kept extends Store>(
  store: Kept,
  clock: Clock,
  onEnding: (entry: ActivityEntry, at: Instant) => void,
): Kept => ({
  ...store,
  admissions: {
    ...store.admissions,
    settle(id, settlement) {
      onEnding(settlement.activity, settlement.at)
      return store.admissions.settle(id, settlement)
    },
  },
  activity: {
    ...store.activity,
    note(entry) {
      onEnding(entry, clock.now())
      store.activity.note(entry)
    },
  },
})
