/** Tells a listener how each request ended: every one is either settled after its admission or noted as refused before it. */
import type { ActivityEntry } from './activity.ts'
import type { Clock, Instant } from './clock.ts'
import type { Store } from './store.ts'

/** The same store, telling every ending once as it passes, before it is committed. */
export const withEndingListener = <Kept extends Store>(
  store: Kept,
  clock: Clock,
  told: (entry: ActivityEntry, at: Instant) => void,
): Kept => ({
  ...store,
  admissions: {
    ...store.admissions,
    settle(id, settlement) {
      told(settlement.activity, settlement.at)
      return store.admissions.settle(id, settlement)
    },
  },
  activity: {
    ...store.activity,
    note(entry) {
      told(entry, clock.now())
      store.activity.note(entry)
    },
  },
})
