/** A request that arrives now. */
import type { Arrival, Clock } from '#domain/clock.ts'

export const noteArrival = (clock: Clock): Arrival => ({
  arrivedAt: clock.now(),
  arrivedMs: clock.monotonicMs(),
})
