/** Implements `Watch`: lists the requests in progress, and ends one of them. */
import { type InFlight, readInFlight } from '#domain/snapshot/in-flight.ts'
import type { Pulse } from '#domain/snapshot/pulse.ts'
import { endedByOperator, type Watch } from '#domain/snapshot/watch.ts'
import type { Walk } from '#domain/walk/walk.ts'
import { within } from '#domain/within.ts'
import type { RunningWalks } from '#http/running-walks.ts'
import { END_GRACE_MS } from './drain.ts'

/** How long an operator waits for one request whose upstream ignores its abort; a drain waits longer. */
const LAST_WAIT_MS = 3_000

export const openWatch = (running: RunningWalks, pulse: Pulse, draining: () => boolean): Watch => ({
  pulse,
  draining,
  peak: () => running.peak,
  inFlight(most) {
    const seen: InFlight[] = []
    for (const walk of running.list()) {
      if (seen.length === most) break
      const one = readInFlight(walk)
      if (one !== null) seen.push(one)
    }
    return seen
  },
  async kill(id) {
    const walk = running
      .list()
      .find(({ generationId, claim }) => claim !== null && generationId === id)
    return walk && { ended: await end(walk) }
  },
})

async function end(walk: Walk): Promise<boolean> {
  walk.abort(endedByOperator())
  if (await within(walk.settled(), END_GRACE_MS)) return true
  void walk.leave()
  return await within(walk.settled(), LAST_WAIT_MS)
}
