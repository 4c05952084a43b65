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
    const walk = [...running.list()].find(({ progress }) => progress?.generationId === id)
    return walk && { ended: await end(running, walk) }
  },
})

async function end(running: RunningWalks, walk: RunningWalk): Promise<boolean> {
  walk.abort(endedByOperator())
  if (await isGoneWithin(running, walk, FAREWELL_MS)) return true
  void walk.leave()
  return await isGoneWithin(running, walk, LAST_WAIT_MS)
}

const LOOK_MS = 10

async function isGoneWithin(
  running: RunningWalks,
  walk: RunningWalk,
  ms: number,
): Promise<boolean> {
  const runs = (): boolean => [...running.list()].includes(walk)
  for (let waitedMs = 0; runs() && waitedMs < ms; waitedMs += LOOK_MS) await Bun.sleep(LOOK_MS)
  return !runs()
}
