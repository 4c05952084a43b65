/** The watch over a running gateway: what an operator may see of its requests, and how one of them is ended. */
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import { readInFlight } from '#domain/snapshot/in-flight.ts'
import type { Pulse } from '#domain/snapshot/pulse.ts'
import { endedByOperator, type Watch } from '#domain/snapshot/watch.ts'
import type { RunningWalk, RunningWalks } from '#http/running-walks.ts'

/** A client that reads is told why its stream ends; one that does not is not waited for longer than this. */
const FAREWELL_MS = 1_000
/** An upstream that ignores its abort is not waited for longer. */
const LAST_WAIT_MS = 3_000

export const openWatch = (running: RunningWalks, pulse: Pulse, draining: () => boolean): Watch => ({
  pulse,
  draining,
  peak: () => running.peak,
  inFlight(most) {
    const seen: InFlight[] = []
    for (const { progress } of running.list()) {
      if (seen.length === most) break
      if (progress) seen.push(readInFlight(progress))
    }
    return seen
  },
  async kill(id) {
    const walk = running.list().find(({ progress }) => progress?.generationId === id)
    return walk && { ended: await end(walk) }
  },
})

async function end(walk: RunningWalk): Promise<boolean> {
  walk.abort(endedByOperator())
  if (await isOverWithin(walk, FAREWELL_MS)) return true
  void walk.leave()
  return await isOverWithin(walk, LAST_WAIT_MS)
}

const LOOK_MS = 10

async function isOverWithin(walk: RunningWalk, ms: number): Promise<boolean> {
  for (let waitedMs = 0; !walk.isOver && waitedMs < ms; waitedMs += LOOK_MS)
    await Bun.sleep(LOOK_MS)
  return walk.isOver
}
