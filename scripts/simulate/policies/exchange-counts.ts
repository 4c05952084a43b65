/** Policy: nodes exchange their counts now and then. */
import { emptyBooks, requestsIn, settle } from '../books.ts'
import type { Policy, Setting } from '../policy.ts'

/** Every node decides alone, on what it knew at the last exchange of counts and what it has done since. */
export function exchangeCounts(setting: Setting, everyMs: number): Policy {
  const { timeline, limits, nodes } = setting
  let known = emptyBooks()
  const since = Array.from({ length: nodes }, emptyBooks)
  let isUp = true
  timeline.every(everyMs, () => {
    if (!isUp) return
    known = since.reduce((sum, own) => {
      sum.instants.push(...own.instants)
      sum.spentMicros += own.spentMicros
      sum.heldMicros += own.heldMicros
      return sum
    }, known)
    known.instants.sort((a, b) => a - b)
    for (let node = 0; node < nodes; node++) since[node] = emptyBooks()
  })
  return {
    admit(claim, answer) {
      const own = since[claim.node]
      const nowMs = timeline.nowMs
      if (own === undefined) return
      const requests = requestsIn(known, nowMs) + requestsIn(own, nowMs)
      const money =
        known.spentMicros + known.heldMicros + own.spentMicros + own.heldMicros + claim.holdMicros
      if (requests >= limits.rpm || money > limits.ceilingMicros) {
        answer('refused')
        return
      }
      own.instants.push(nowMs)
      own.heldMicros += claim.holdMicros
      answer('admitted')
    },
    settle(claim) {
      const own = since[claim.node]
      if (own !== undefined) settle(own, claim)
    },
    failOver(outageMs) {
      isUp = false
      timeline.after(outageMs, () => {
        isUp = true
      })
    },
    loseNode(node) {
      since[node] = emptyBooks()
    },
  }
}
