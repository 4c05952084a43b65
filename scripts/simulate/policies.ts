/** Three ways for several nodes to hold one key to one limit; each answers through its callback, after as long as it takes. */
import { copyBooks, emptyBooks, requestsIn, settle, take } from './books.ts'
import type { Timeline } from './events.ts'
import type { Chance } from './random.ts'
import type { Claim, Limits } from './truth.ts'

export type Verdict = 'admitted' | 'refused' | 'unavailable'

export interface Policy {
  admit(claim: Claim, answer: (verdict: Verdict) => void): void
  settle(claim: Claim): void
  /** From now on nothing reaches the second machine; `lagMs` later the first dies, and `outageMs` after that the second takes over. */
  failOver(outageMs: number, lagMs: number): void
  /** A node dies with what it knows. */
  loseNode(node: number): void
}

export interface Setting {
  readonly timeline: Timeline
  readonly chance: Chance
  readonly limits: Limits
  readonly nodes: number
  /** There and back between a node and the shared store. */
  readonly roundTripMs: readonly [number, number]
}

/** What the shared store takes for one script; it runs one at a time. */
const SCRIPT_MS = 0.02

/** A store that all nodes ask. Its second machine is behind the first, and wakes up with what had reached it. */
function startShared({ timeline }: Setting) {
  let books = emptyBooks()
  let isUp = true
  let busyUntilMs = 0
  return {
    get books() {
      return books
    },
    get isUp() {
      return isUp
    },
    /** Runs a script when its turn comes. */
    run(script: () => void): void {
      const startMs = Math.max(timeline.nowMs, busyUntilMs)
      busyUntilMs = startMs + SCRIPT_MS
      timeline.after(busyUntilMs - timeline.nowMs, script)
    },
    failOver(outageMs: number, lagMs: number): void {
      const survivor = copyBooks(books)
      timeline.after(lagMs, () => {
        isUp = false
      })
      timeline.after(lagMs + outageMs, () => {
        books = survivor
        isUp = true
      })
    },
  }
}

/** Every admission is one script of the shared store: exact, and a round trip slower. While it is away nothing is admitted. */
export function askEveryTime(setting: Setting): Policy {
  const { timeline, chance, limits, roundTripMs } = setting
  const shared = startShared(setting)
  return {
    admit(claim, answer) {
      const wayMs = chance.between(...roundTripMs) / 2
      timeline.after(wayMs, () => {
        if (!shared.isUp) {
          timeline.after(wayMs, () => answer('unavailable'))
          return
        }
        shared.run(() => {
          const taken = take(shared.books, limits, claim, timeline.nowMs)
          timeline.after(wayMs, () => answer(taken ? 'admitted' : 'refused'))
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

interface Lease {
  /** The instant that each slot counts at, whenever within the lease it is used. */
  slots: number[]
  micros: number
  untilMs: number
}

/** More than a node uses before its lease ends. */
const MOST_LENT_SLOTS = 200

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
    const share = Math.min(MOST_LENT_SLOTS, Math.ceil(slotsLeft / (2 * nodes)))
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
    const wayMs = chance.between(...roundTripMs) / 2
    timeline.after(wayMs, () => {
      if (!shared.isUp) {
        timeline.after(wayMs, () => answerAll(claim.node, 'unavailable'))
        return
      }
      shared.run(() => {
        const lent = lend(claim)
        timeline.after(wayMs, () => {
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
