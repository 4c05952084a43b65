/** Calls a listener when a request has ended: every one is either settled after its admission or noted as refused before it. */
import type { ActivityEntry } from './activity.ts'
import type { Clock, Instant } from './clock.ts'
import type { Store } from './store.ts'

/** The same store; `onEnding` is called once for every ending, before it is committed. */
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
