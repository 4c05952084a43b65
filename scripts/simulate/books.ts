/** The counts of one key, as the deciding node keeps them: a window of instants, spend and holds. */
import type { Claim, Limits } from './observer.ts'

const MINUTE_MS = 60_000

export interface Books {
  readonly instants: number[]
  spentMicros: number
  heldMicros: number
}

export const emptyBooks = (): Books => ({ instants: [], spentMicros: 0, heldMicros: 0 })

export const copyBooks = ({ instants, spentMicros, heldMicros }: Books): Books => ({
  instants: [...instants],
  spentMicros,
  heldMicros,
})

export function requestsIn(books: Books, nowMs: number): number {
  const { instants } = books
  let left = 0
  while (left < instants.length && (instants[left] ?? 0) + MINUTE_MS <= nowMs) left++
  if (left > 0) instants.splice(0, left)
  return instants.length
}

/** Takes a slot and the hold, or nothing. */
export function take(books: Books, limits: Limits, claim: Claim, nowMs: number): boolean {
  if (requestsIn(books, nowMs) >= limits.rpm) return false
  if (books.spentMicros + books.heldMicros + claim.holdMicros > limits.ceilingMicros) return false
  books.instants.push(nowMs)
  books.heldMicros += claim.holdMicros
  return true
}

export function settle(books: Books, { holdMicros, costMicros }: Claim): void {
  books.heldMicros -= holdMicros
  books.spentMicros += costMicros
}
