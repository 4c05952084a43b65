/** A policy: one way for several nodes to hold one key to one limit. It answers through a callback, once its messages have travelled. */
import type { Timeline } from './events.ts'
import type { Claim, Limits } from './observer.ts'
import type { Chance } from './random.ts'

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
