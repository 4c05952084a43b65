/** Whoever waits for something that may never come, under one timer for all: one for each would be set and cleared in vain. */

import { type Placed, Roster } from './roster.ts'

/** What is looked at when the timer fires, and never sooner than it says. */
export interface Deadline extends Placed {
  /** When its time is up, on the clock of `performance`; it may move while nobody looks, but sooner only with `watch`. */
  dueMs(nowMs: number): number
  /** Its time is up; it is watched no more. */
  expire(): void
}

/** What setTimeout can still count. */
const LONGEST_TIMER_MS = 2_147_483_647
/** How late a time may be found to be up, for the sake of those who would otherwise each wake us. */
const SHORTEST_TIMER_MS = 10

const roster = new Roster<Deadline>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerDueMs = Number.POSITIVE_INFINITY

/** Watches, or looks again at somebody whose time may now be up sooner. */
export function setDeadline(deadline: Deadline, nowMs = performance.now()): void {
  roster.add(deadline)
  const dueMs = deadline.dueMs(nowMs)
  if (dueMs < timerDueMs) setTimer(dueMs, nowMs)
}

/** Its time does not matter any more. The timer stays: it is right for most of those who follow. */
export function clearDeadline(watched: Deadline): void {
  roster.remove(watched)
}

function setTimer(dueMs: number, nowMs: number): void {
  clearTimeout(timer)
  timerDueMs = dueMs
  const restMs = Math.max(Math.ceil(dueMs - nowMs), SHORTEST_TIMER_MS)
  // It keeps no process alive: the connections that it watches do.
  timer = setTimeout(look, Math.min(restMs, LONGEST_TIMER_MS)).unref()
}

function look(): void {
  timerDueMs = Number.POSITIVE_INFINITY
  const nowMs = performance.now()
  let nextMs = Number.POSITIVE_INFINITY
  // Whoever comes meanwhile sets the timer himself; whoever has gone meanwhile is not asked.
  for (const watched of roster.list()) {
    if (watched.place < 0) continue
    const dueMs = watched.dueMs(nowMs)
    if (dueMs > nowMs) {
      nextMs = Math.min(nextMs, dueMs)
      continue
    }
    clearDeadline(watched)
    watched.expire()
  }
  if (nextMs < timerDueMs) setTimer(nextMs, nowMs)
}
