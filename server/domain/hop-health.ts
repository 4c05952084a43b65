/** Which hops are worth asking: one that keeps failing rests, and is probed by one request before it serves again. */
import { type Clock, type Instant, later } from './clock.ts'
import type { Hop } from './route.ts'
import type { UpstreamFailure } from './upstream.ts'

/** A hop rests after so many failures in a row. */
const FAILURES_BEFORE_REST = 3
/** The first rest; each probe that fails doubles it. */
const FIRST_REST_MS = 5_000
const LONGEST_REST_MS = 300_000
/** A provider may ask for more than a day (quirks: a monthly quota); it is asked again after this long all the same. */
const LONGEST_ASKED_REST_MS = 600_000
/** An account that is not accepted, or has no money left, waits for its operator. */
const OPERATOR_REST_MS = 60_000

interface FailureRun {
  failures: number
  rests: number
  /** Null until it rests for the first time. */
  restsUntil: Instant | null
  /** Whether a request is finding out if it serves again. */
  isProbed: boolean
}

/** A hop that has failed recently, for `status` and the dashboard. */
export interface HopReading {
  readonly provider: string
  readonly upstreamName: string
  /** In a row. */
  readonly failures: number
  /** Null while it serves. */
  readonly restsUntil: Instant | null
}

export interface HopHealth {
  /** Puts the hops that rest behind those that do not, in their own order. None is left out: where all rest, they are still asked. */
  arrange<T extends { readonly hop: Hop }>(offers: readonly T[]): readonly T[]
  /** A hop is about to be asked. One whose rest is over is being probed: until the probe has ended, others still avoid it. */
  asked(hop: Hop): void
  served(hop: Hop): void
  failed(hop: Hop, failure: UpstreamFailure): void
  /** The client left before the hop answered or failed; a probe is then left to the next request. */
  left(hop: Hop): void
  readings(): readonly HopReading[]
}

const nameOf = ({ provider, card }: Hop): string => `${provider.name} ${card.upstreamName}`

/** Kept in memory: after a restart every hop is taken for well. */
export function createHopHealth(clock: Clock): HopHealth {
  const runs = new Map<string, FailureRun & { readonly hop: Hop }>()

  const isResting = (hop: Hop, at: Instant): boolean => {
    const run = runs.get(nameOf(hop))
    return run !== undefined && rests(run, at)
  }

  const endProbe = (hop: Hop): void => {
    const run = runs.get(nameOf(hop))
    if (!run?.isProbed) return
    run.isProbed = false
    run.restsUntil = clock.now()
  }

  return {
    arrange(offers) {
      if (runs.size === 0 || offers.length < 2) return offers
      const at = clock.now()
      const resting = offers.filter(({ hop }) => isResting(hop, at))
      if (resting.length === 0) return offers
      return [...offers.filter((offer) => !resting.includes(offer)), ...resting]
    },
    asked(hop) {
      if (runs.size === 0) return
      const run = runs.get(nameOf(hop))
      if (!run || run.restsUntil === null) return
      const at = clock.now()
      if (rests(run, at)) return
      run.isProbed = true
      run.restsUntil = later(at, restMs(run.rests))
    },
    served(hop) {
      if (runs.size > 0) runs.delete(nameOf(hop))
    },
    failed(hop, failure) {
      if (!isItsFault(failure)) {
        endProbe(hop)
        return
      }
      const name = nameOf(hop)
      const run = runs.get(name) ?? { hop, ...WELL }
      runs.set(name, run)
      takeFailure(run, failure, clock.now())
    },
    left: endProbe,
    readings: () =>
      [...runs.values()].map((run) => ({
        provider: run.hop.provider.name,
        upstreamName: run.hop.card.upstreamName,
        failures: run.failures,
        restsUntil: rests(run, clock.now()) ? run.restsUntil : null,
      })),
  }
}

/** A rest that would last longer than any was begun by a clock that has been set back since, and is over. */
const rests = ({ restsUntil }: FailureRun, at: Instant): boolean =>
  restsUntil !== null && at < restsUntil && restsUntil <= later(at, LONGEST_ASKED_REST_MS)

const WELL: FailureRun = { failures: 0, rests: 0, restsUntil: null, isProbed: false }

/** What a caller did wrong, and a picture that a model would not draw, say nothing about the hop. */
const isItsFault = ({ kind, details }: UpstreamFailure): boolean =>
  kind !== 'rejected' && kind !== 'no-image' && details.permanent !== 'request'

function takeFailure(run: FailureRun, failure: UpstreamFailure, at: Instant): void {
  const { restsUntil, isProbed } = run
  run.failures++
  run.isProbed = false
  if (restsUntil !== null && rests(run, at) && !isProbed) {
    // Whatever was under way when its rest began fails now, and is no probe: at most the provider asks for a longer one.
    const askedUntil = later(at, askedRestMs(failure) ?? 0)
    if (askedUntil > restsUntil) run.restsUntil = askedUntil
    return
  }
  const isDue = run.rests > 0 || run.failures >= FAILURES_BEFORE_REST
  const ms = askedRestMs(failure) ?? (isDue ? restMs(run.rests) : null)
  if (ms === null) return
  run.rests++
  run.restsUntil = later(at, ms)
}

/** How long the failure itself says that asking is in vain; null where it says nothing. */
function askedRestMs({ kind, details }: UpstreamFailure): number | null {
  if (kind === 'unauthorized' || details.permanent === 'account') return OPERATOR_REST_MS
  const { retryAfterSeconds } = details
  if (kind !== 'overloaded' || retryAfterSeconds === undefined) return null
  return Math.min(retryAfterSeconds * 1_000, LONGEST_ASKED_REST_MS)
}

const restMs = (rests: number): number =>
  Math.min(FIRST_REST_MS * 2 ** Math.min(rests, 16), LONGEST_REST_MS)
