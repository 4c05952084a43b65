/** Policy: every admission asks the shared store. */
import { settle, take } from '../books.ts'
import type { Policy, Setting } from '../policy.ts'
import { startShared } from '../shared-store.ts'

/** Every admission is one script of the shared store: exact, and a round trip slower. While it is away nothing is admitted. */
export function askEveryTime(setting: Setting): Policy {
  const { timeline, chance, limits, roundTripMs } = setting
  const shared = startShared(setting)
  return {
    admit(claim, answer) {
      const oneWayMs = chance.between(...roundTripMs) / 2
      timeline.after(oneWayMs, () => {
        if (!shared.isUp) {
          timeline.after(oneWayMs, () => answer('unavailable'))
          return
        }
        shared.run(() => {
          const taken = take(shared.books, limits, claim, timeline.nowMs)
          timeline.after(oneWayMs, () => answer(taken ? 'admitted' : 'refused'))
        })
      })
    },
    settle(claim) {
      if (shared.isUp) settle(shared.books, claim)
      // The ledger has the charge; the counts are put right from it when the store is back.
      else timeline.after(1_000, () => this.settle(claim))
    },
    failOver: shared.failOver,
    loseNode() {},
  }
}
