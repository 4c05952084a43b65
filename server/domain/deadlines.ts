/** Many deadlines under one timer: most are cleared before they are due, and a timer for each would be set and cleared in vain. */

import { type Placed, Roster } from './roster.ts'

/** Checked when the timer fires; expires no sooner than it is due. */
export interface Deadline extends Placed {
  /** When it is due, on the clock of `performance`. It may move later at any time; sooner only by `setDeadline`. */
  dueMs(nowMs: number): number
  /** It is due, and has been cleared. */
  expire(): void
}

/** What setTimeout can still count. */
const LONGEST_TIMER_MS = 2_147_483_647
/** How late one may be noticed, so that deadlines close together share a wake-up. */
const SHORTEST_TIMER_MS = 10

const roster = new Roster<Deadline>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerDueMs = Number.POSITIVE_INFINITY

/** Sets a deadline, or takes over that one already set may now be due sooner. */
export function setDeadline(deadline: Deadline, nowMs = performance.now()): void {
  roster.add(deadline)
  const dueMs = deadline.dueMs(nowMs)
  if (dueMs < timerDueMs) setTimer(dueMs, nowMs)
}

/** It will not expire. The timer stays: it is right for most of those that follow. */
export function clearDeadline(deadline: Deadline): void {
  roster.remove(deadline)
}

function setTimer(dueMs: number, nowMs: number): void {
  clearTimeout(timer)
  timerDueMs = dueMs
  const restMs = Math.max(Math.ceil(dueMs - nowMs), SHORTEST_TIMER_MS)
  // It keeps no process alive: the connections that it watches do.
  timer = setTimeout(expireDue, Math.min(restMs, LONGEST_TIMER_MS)).unref()
}

function expireDue(): void {
  timerDueMs = Number.POSITIVE_INFINITY
  const nowMs = performance.now()
  let nextMs = Number.POSITIVE_INFINITY
  // One that is set meanwhile sets the timer itself; one that was cleared meanwhile is passed over.
  for (const deadline of roster.list()) {
    if (deadline.place < 0) continue
    const dueMs = deadline.dueMs(nowMs)
    if (dueMs > nowMs) {
      nextMs = Math.min(nextMs, dueMs)
      continue
    }
    clearDeadline(deadline)
    deadline.expire()
  }
  if (nextMs < timerDueMs) setTimer(nextMs, nowMs)
}
