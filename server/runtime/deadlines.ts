/** Many deadlines share one timer, because most are cleared before they are due. */
import { type Placed, Roster } from './short-lived.ts'

/** Checked when the timer fires; never expires before it is due. */
export interface Deadline extends Placed {
  /** The due time by `performance.now()`. It may move later at any time, but earlier only through `setDeadline`. */
  dueMs(nowMs: number): number
  /** Called when it is due, after it was cleared. */
  expire(): void
}

/** The longest delay that setTimeout supports. */
const MAX_TIMER_MS = 2_147_483_647
/** How late a deadline may expire, so that close deadlines share a wake-up. */
const MIN_TIMER_MS = 10

const roster = new Roster<Deadline>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerDueMs = Number.POSITIVE_INFINITY

/** Sets a deadline, or updates one that is now due earlier. */
export function setDeadline(deadline: Deadline, nowMs = performance.now()): void {
  roster.add(deadline)
  const dueMs = deadline.dueMs(nowMs)
  if (dueMs < timerDueMs) setTimer(dueMs, nowMs)
}

/** Cancels a deadline. The timer keeps running for the other deadlines. */
export function clearDeadline(deadline: Deadline): void {
  roster.remove(deadline)
}

function setTimer(dueMs: number, nowMs: number): void {
  clearTimeout(timer)
  timerDueMs = dueMs
  const restMs = Math.max(Math.ceil(dueMs - nowMs), MIN_TIMER_MS)
  // Unreferenced: the watched connections keep the process alive, not this timer.
  timer = setTimeout(expireDue, Math.min(restMs, MAX_TIMER_MS)).unref()
}

function expireDue(): void {
  timerDueMs = Number.POSITIVE_INFINITY
  const nowMs = performance.now()
  let nextMs = Number.POSITIVE_INFINITY
  // `expire` may set deadlines, which sets the timer, and clear others, which are skipped.
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
