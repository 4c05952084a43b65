/** How soon each hop begins to answer: a decayed median, by which a route of the order `latency` asks the fastest first. */
import type { Clock } from '../clock.ts'
import type { Hop } from '../hop.ts'
import type { RouteHop } from '../route.ts'

/** The share of requests that go where weight sends them, so that what was slow is measured again. */
const EXPLORED = 0.1
/** The same while a hop is not measured at all. */
const EXPLORED_UNKNOWN = 0.5
/** Of each hop; older ones are forgotten. */
const MAX_SAMPLES = 32
/** After so long an answer counts half as much as one of now. */
const HALF_LIFE_MS = 5 * 60_000

/** How soon a hop begins to answer. */
export interface PaceReading {
  readonly provider: string
  readonly upstreamName: string
  /** A whole answer begins when it is complete: the two are never compared. */
  readonly stream: boolean
  /** From the request to the first content. */
  readonly medianMs: number
}

export interface HopPace {
  /** The first content of an answer has come, so long after it was asked for. */
  began(hop: Hop, stream: boolean, ms: number): void
  /**
   * Those of one position, which are drawn by weight, the fastest first; what is not measured yet is last. One draw of ten stays as
   * it was drawn, and every other one while a hop is not measured yet.
   */
  fastestFirst(drawn: readonly RouteHop[], stream: boolean, draw: () => number): readonly RouteHop[]
  readings(): readonly PaceReading[]
}

interface Sample {
  readonly ms: number
  readonly atMs: number
}

interface Measured {
  readonly hop: Omit<PaceReading, 'medianMs'>
  /** The newest last. */
  readonly samples: Sample[]
  medianMs: number
}

const nameOf = (provider: string, upstreamName: string, stream: boolean): string =>
  `${stream ? 'stream' : 'whole'} ${provider} ${upstreamName}`

/** Kept in memory; after a restart nothing is measured. */
export function createHopPace(clock: Pick<Clock, 'monotonicMs'>): HopPace {
  const all = new Map<string, Measured>()
  return {
    began({ provider: { name: provider }, card: { upstreamName } }, stream, ms) {
      const name = nameOf(provider, upstreamName, stream)
      const hop = { provider, upstreamName, stream }
      const measured = all.get(name) ?? { hop, samples: [], medianMs: 0 }
      all.set(name, measured)
      measured.samples.push({ ms, atMs: clock.monotonicMs() })
      if (measured.samples.length > MAX_SAMPLES) measured.samples.shift()
      // All decay alike between two answers, so that the median changes with an answer only.
      measured.medianMs = decayedMedian(measured.samples)
    },
    fastestFirst(drawn, stream, draw) {
      if (drawn.length < 2) return drawn
      const msOf = ({ provider, upstreamName }: RouteHop): number =>
        all.get(nameOf(provider, upstreamName, stream))?.medianMs ?? UNKNOWN_MS
      const isKnown = drawn.every((hop) => msOf(hop) !== UNKNOWN_MS)
      if (draw() < (isKnown ? EXPLORED : EXPLORED_UNKNOWN)) return drawn
      return drawn.toSorted((a, b) => compare(msOf(a), msOf(b)))
    },
    readings: () => [...all.values()].map(({ hop, medianMs }) => ({ ...hop, medianMs })),
  }
}

const UNKNOWN_MS = Number.POSITIVE_INFINITY

const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)

/** The duration that as much weight is below as above. */
function decayedMedian(samples: readonly Sample[]): number {
  const newestMs = samples.at(-1)?.atMs ?? 0
  const weighed = samples
    .map(({ ms, atMs }) => ({ ms, weight: 2 ** ((atMs - newestMs) / HALF_LIFE_MS) }))
    .toSorted((a, b) => a.ms - b.ms)
  let left = weighed.reduce((sum, { weight }) => sum + weight, 0) / 2
  for (const { ms, weight } of weighed) {
    left -= weight
    if (left <= 0) return ms
  }
  return weighed.at(-1)?.ms ?? 0
}
