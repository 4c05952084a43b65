/** The time that a body has to arrive in. */
import { GatewayError } from '#domain/errors.ts'
import { unwatch, type Watched, watch } from '#domain/watch-list.ts'

/** A body on its way. A class, because every request has one. */
export class Arrival<Read> implements Watched {
  place = -1
  /** What is read. @throws invalid_request once the time is up, however much is still to come */
  readonly read: Promise<Read>
  private readonly deadlineMs: number
  private readonly due: number
  private readonly giveUp: (late: GatewayError) => void

  constructor(reading: Promise<Read>, deadlineMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<Read>()
    reading.then(resolve, reject)
    this.read = promise
    this.giveUp = reject
    this.deadlineMs = deadlineMs
    this.due = performance.now() + deadlineMs
  }

  dueMs(): number {
    return this.due
  }

  expire(): void {
    const seconds = Math.round(this.deadlineMs / 1000)
    this.giveUp(new GatewayError('invalid_request', `the body did not arrive within ${seconds} s`))
  }
}

/** Gives `reading` its time; whoever has awaited it says `arrived`. */
export function awaitBody<Read>(reading: Promise<Read>, deadlineMs: number): Arrival<Read> {
  const arrival = new Arrival(reading, deadlineMs)
  watch(arrival)
  return arrival
}

export const arrived = (arrival: Watched): void => unwatch(arrival)
