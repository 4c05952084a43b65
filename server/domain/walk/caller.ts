/** The caller of the chat operation. */
import { type Clock, type Instant, later } from '../clock.ts'
import type { ApiKey } from '../key.ts'

export interface Arrival {
  /** When the request arrived. */
  readonly arrivedAt: Instant
  /** The same moment by `Clock.monotonicMs`. */
  readonly arrivedMs: number
}

export interface Caller extends Arrival {
  readonly key: ApiKey
  readonly requestId: string
}

export const noteArrival = (clock: Clock): Arrival => ({
  arrivedAt: clock.now(),
  arrivedMs: clock.monotonicMs(),
})

/** How long ago a request arrived. */
export const sinceArrivalMs = (clock: Clock, { arrivedMs }: Arrival): number =>
  clock.monotonicMs() - arrivedMs

/** Now, as the request has it: its arrival and what has passed since, so that no duration of it contains a step of the clock. */
export const momentOf = (clock: Clock, arrival: Arrival): Instant =>
  later(arrival.arrivedAt, sinceArrivalMs(clock, arrival))
