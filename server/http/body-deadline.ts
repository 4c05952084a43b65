/** The time that a body has to arrive in: one timer looks after all that are on their way. */
import { GatewayError } from '#domain/errors.ts'

export interface Arrival<Read> {
  /** What is read. @throws invalid_request once the time is up, however much is still to come */
  readonly read: Promise<Read>
  readonly deadlineMs: number
  /** On the clock that only goes forward. */
  readonly dueMs: number
  giveUp(late: GatewayError): void
}

const arrivals = new Set<Arrival<unknown>>()
let timer: ReturnType<typeof setTimeout> | undefined
let wakesAtMs = Number.POSITIVE_INFINITY

/** Gives `reading` its time; whoever has awaited it says `arrived`. */
export function awaitBody<Read>(reading: Promise<Read>, deadlineMs: number): Arrival<Read> {
  const { promise: read, resolve, reject: giveUp } = Promise.withResolvers<Read>()
  const arrival = { read, deadlineMs, dueMs: performance.now() + deadlineMs, giveUp }
  reading.then(resolve, giveUp)
  arrivals.add(arrival)
  wakeBy(arrival.dueMs)
  return arrival
}

export const arrived = (arrival: Arrival<unknown>): void => void arrivals.delete(arrival)

/** A timer is set at most once in the time that a body has, not for each: it may find that nothing is late. */
function wakeBy(dueMs: number): void {
  if (dueMs >= wakesAtMs) return
  clearTimeout(timer)
  wakesAtMs = dueMs
  timer = setTimeout(lookAround, Math.ceil(dueMs - performance.now()))
  // What it looks after has a connection that keeps the process alive; by itself it is no reason to stay.
  timer.unref()
}

function lookAround(): void {
  const nowMs = performance.now()
  wakesAtMs = Number.POSITIVE_INFINITY
  let nextMs = Number.POSITIVE_INFINITY
  for (const { dueMs, deadlineMs, giveUp } of arrivals) {
    if (dueMs <= nowMs) giveUp(tooLate(deadlineMs))
    else if (dueMs < nextMs) nextMs = dueMs
  }
  wakeBy(nextMs)
}

const tooLate = (deadlineMs: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `the body did not arrive within ${Math.round(deadlineMs / 1000)} s`,
  )
