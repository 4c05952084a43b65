/** Watches an idle gateway. */
import { Pulse } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'

export const restingWatch = (): Watch => ({
  pulse: new Pulse(),
  inFlight: () => [],
  count: () => 0,
  nodes: () => null,
  peak: () => 0,
  draining: () => false,
  kill: async () => undefined,
  look: async () => {},
})
