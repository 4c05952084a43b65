/** Policy: the shared store lends slots and money to nodes ahead of time. */
import { requestsIn, settle } from '../books.ts'
import type { Claim } from '../observer.ts'
import type { Policy, Setting, Verdict } from '../policy.ts'
import { startShared } from '../shared-store.ts'

interface Lease {
  /** The instant that each slot counts at, whenever within the lease it is used. */
  slots: number[]
  micros: number
  untilMs: number
}

/** More than a node uses before its lease ends. */
const MAX_LENT_SLOTS = 200

const noLease = (): Lease => ({ slots: [], micros: 0, untilMs: 0 })

/**
 * A node borrows slots and money ahead of time and decides alone within them; what is left when the lease ends goes back. Nothing
 * is ever lent twice, so nothing can be overspent; what lies in another node's lease cannot be used.
 */
export function lendAhead(setting: Setting, leaseMs: number): Policy {
  const { timeline, chance, limits, nodes, roundTripMs } = setting
  const shared = startShared(setting)
  const leases = Array.from({ length: nodes }, noLease)
  const waiting = Array.from({ length: nodes }, (): [Claim, (verdict: Verdict) => void][] => [])

  /** A fair share of what is left, so that the first to ask does not take it all. */
  const lend = ({ node, holdMicros }: Claim): Lease => {
    const { books } = shared
    const untilMs = timeline.nowMs + leaseMs
    const slotsLeft = limits.rpm - requestsIn(books, timeline.nowMs)
    const microsLeft = limits.ceilingMicros - books.spentMicros - books.heldMicros
    if (slotsLeft < 1 || microsLeft < holdMicros) return noLease()
    const share = Math.min(MAX_LENT_SLOTS, Math.ceil(slotsLeft / (2 * nodes)))
    const count = leases[node]?.slots.length ? 0 : share
    // A slot counts from the lease's end: used early, it must not free early.
    const slots = Array.from({ length: count }, () => untilMs)
    const micros = Math.max(holdMicros, Math.floor(microsLeft / (2 * nodes)))
    books.instants.push(...slots)
    books.heldMicros += micros
    return { slots, micros, untilMs }
  }

  const serve = (claim: Claim, answer: (verdict: Verdict) => void): boolean => {
    const lease = leases[claim.node] ?? noLease()
    if (lease.slots.length === 0 || lease.micros < claim.holdMicros) return false
    lease.slots.pop()
    lease.micros -= claim.holdMicros
    answer('admitted')
    return true
  }

  const answerAll = (node: number, verdict: Verdict): void => {
    for (const [claim, answer] of waiting[node]?.splice(0) ?? []) {
      if (verdict === 'unavailable' || !serve(claim, answer)) answer(verdict)
    }
  }

  const borrow = (claim: Claim): void => {
    const oneWayMs = chance.between(...roundTripMs) / 2
    timeline.after(oneWayMs, () => {
      if (!shared.isUp) {
        timeline.after(oneWayMs, () => answerAll(claim.node, 'unavailable'))
        return
      }
      shared.run(() => {
        const lent = lend(claim)
        timeline.after(oneWayMs, () => {
          const lease = leases[claim.node]
          if (lease === undefined) return
          lease.slots.push(...lent.slots)
          lease.micros += lent.micros
          lease.untilMs = Math.max(lease.untilMs, lent.untilMs)
          answerAll(claim.node, 'refused')
        })
      })
    })
  }

  const giveBack = (lease: Lease): void => {
    const { instants } = shared.books
    for (const slot of lease.slots.splice(0)) {
      const place = instants.lastIndexOf(slot)
      if (place >= 0) instants.splice(place, 1)
    }
    shared.books.heldMicros -= lease.micros
    lease.micros = 0
  }

  timeline.every(leaseMs / 4, () => {
    if (!shared.isUp) return
    for (const lease of leases) if (lease.untilMs <= timeline.nowMs) giveBack(lease)
  })

  return {
    admit(claim, answer) {
      const queue = waiting[claim.node]
      if (queue === undefined || (queue.length === 0 && serve(claim, answer))) return
      if (queue.push([claim, answer]) === 1) borrow(claim)
    },
    settle(claim) {
      if (shared.isUp) settle(shared.books, claim)
      else timeline.after(1_000, () => this.settle(claim))
    },
    failOver: shared.failOver,
    loseNode(node) {
      const lost = leases[node]?.micros ?? 0
      leases[node] = noLease()
      // Its slots leave with the window; the store frees the money when the lease ends.
      timeline.after(leaseMs, () => {
        shared.books.heldMicros -= lost
      })
    },
  }
}
