/**
 * Circuit breaker per hop: one that keeps failing rests, and a single probe request decides whether it serves again. Where a
 * provider has several credentials, what is the fault of one rests that one alone, at every model.
 */
import { type Clock, type Instant, later } from '../clock.ts'
import type { Hop } from '../hop.ts'
import type { FailureKind, UpstreamFailure } from '../upstream.ts'
import { createHopPace, type HopPace } from './hop-pace.ts'

/** Consecutive failures after which a hop rests. */
const FAILURES_BEFORE_REST = 3
/** The first rest; each probe that fails doubles it. */
const FIRST_REST_MS = 5_000
const MAX_REST_MS = 300_000
/** A provider's `Retry-After` may exceed a day (quirks §4); the hop is probed after this long anyway. */
const MAX_ASKED_REST_MS = 600_000
/** For an account that is rejected or out of credit, which only its operator can fix. */
const OPERATOR_REST_MS = 60_000

interface FailureRun {
  /** The last failure. */
  last: UpstreamFailure | null
  failures: number
  restCount: number
  /** Null until it rests for the first time, and again once the answer to a probe has begun. */
  restsUntil: Instant | null
  /** Whether a probe request is in progress. */
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
  /** Whether it keeps failing since it served last, so that somebody should look at it. */
  readonly keepsFailing: boolean
  /** Whether only its operator can end it: rejected, or out of credit. */
  readonly needsOperator: boolean
  /** Its last failure. */
  readonly kind: FailureKind
  /** The provider's own status, where one came. */
  readonly status: number | null
}

/** A credential that has failed recently, of a provider that has several; without failures, another secret has its name since. */
export interface CredentialReading extends Omit<HopReading, 'upstreamName'> {
  readonly credential: string
}

export interface HopHealth {
  /** Of the hops that a route orders by it. */
  readonly pace: HopPace
  /** Moves resting hops to the end and otherwise keeps the order. None is removed: if all rest, they are still tried. */
  arrange<T extends { readonly hop: Hop }>(offers: readonly T[]): readonly T[]
  /**
   * A request is about to be sent. True if the hop's rest is over, so that this is the probe; other requests avoid the hop until
   * its answer begins, or it ends.
   */
  attempted(hop: Hop): boolean
  /** The first content of an answer has arrived: a probe ends the rest, however long it streams. */
  began(hop: Hop): void
  served(hop: Hop): void
  failed(hop: Hop, failure: UpstreamFailure): void
  /** The client of the probe disconnected before the hop answered or failed; the next request becomes the probe. */
  abandoned(hop: Hop): void
  readings(): readonly HopReading[]
  credentials(): readonly CredentialReading[]
}

/** Whether a failure is that of the credential, not of the hop: another credential may be served. */
export const isOfCredential = ({ credential }: Hop, { kind, details }: UpstreamFailure): boolean =>
  credential !== null &&
  (kind === 'unauthorized' ||
    details.permanent === 'account' ||
    (kind === 'overloaded' && details.status === 429))

const nameOf = ({ provider, card }: Hop): string => `${provider.name} ${card.upstreamName}`

/** No provider's name has a colon. */
const credentialOf = ({ provider, credential }: Hop): string => `:${provider.name} ${credential}`

/** Kept in memory; after a restart every hop counts as healthy. */
export function createHopHealth(clock: Clock): HopHealth {
  const runs = new Map<string, FailureRun & { readonly hop: Hop }>()

  /** After a change of its provider a credential rests no longer, for another secret may have its name; whether it serves is yet to be seen. */
  const runOf = (name: string, hop: Hop) => {
    const run = runs.get(name)
    if (run === undefined || !isChanged(run.hop, hop) || !name.startsWith(':')) return run
    const anew = { ...NO_FAILURES, last: run.last, hop }
    runs.set(name, anew)
    return anew
  }

  /** Of the hop, and of its credential where the provider has several. */
  const runsOf = (hop: Hop): readonly FailureRun[] => {
    if (runs.size === 0) return NO_RUNS
    const names = hop.credential === null ? [nameOf(hop)] : [nameOf(hop), credentialOf(hop)]
    return names.flatMap((name) => runOf(name, hop) ?? [])
  }
  const isResting = (hop: Hop, at: Instant): boolean =>
    runsOf(hop).some((run) => isRestingAt(run, at))

  const endProbe = (hop: Hop): void => {
    for (const run of runsOf(hop)) {
      if (!run.isProbed) continue
      run.isProbed = false
      run.restsUntil = clock.now()
    }
  }

  return {
    pace: createHopPace(clock),
    arrange(offers) {
      if (runs.size === 0 || offers.length < 2) return offers
      const at = clock.now()
      const resting = offers.filter(({ hop }) => isResting(hop, at))
      if (resting.length === 0) return offers
      return [...offers.filter((offer) => !resting.includes(offer)), ...resting]
    },
    attempted(hop) {
      if (runs.size === 0) return false
      const at = clock.now()
      let isProbe = false
      for (const run of runsOf(hop)) {
        if (run.restsUntil === null || isRestingAt(run, at)) continue
        isProbe = true
        run.isProbed = true
        run.restsUntil = later(at, restMs(run.restCount))
      }
      return isProbe
    },
    began(hop) {
      for (const run of runsOf(hop)) {
        if (!run.isProbed) continue
        // Its failures still count until it is served: an answer that breaks off rests it again, for longer.
        run.isProbed = false
        run.restsUntil = null
      }
    },
    served(hop) {
      if (runs.size === 0) return
      runs.delete(nameOf(hop))
      if (hop.credential !== null) runs.delete(credentialOf(hop))
    },
    failed(hop, failure) {
      if (!isHopFault(failure)) {
        endProbe(hop)
        return
      }
      const isCredentials = isOfCredential(hop, failure)
      // The other of the two was not judged.
      const name = isCredentials ? credentialOf(hop) : nameOf(hop)
      const run = runOf(name, hop) ?? { hop, ...NO_FAILURES }
      runs.set(name, run)
      recordFailure(run, failure, clock.now(), isCredentials ? 1 : FAILURES_BEFORE_REST)
      endProbe(hop)
    },
    abandoned: endProbe,
    readings: () =>
      [...runs]
        .filter(([name]) => !name.startsWith(':'))
        .map(([, run]) => ({
          provider: run.hop.provider.name,
          upstreamName: run.hop.card.upstreamName,
          ...readingOf(run, clock.now()),
        })),
    credentials: () =>
      [...runs]
        .filter(([name]) => name.startsWith(':'))
        .map(([, run]) => ({
          provider: run.hop.provider.name,
          credential: run.hop.credential ?? '',
          ...readingOf(run, clock.now()),
        })),
  }
}

const NO_RUNS: readonly FailureRun[] = []

const isChanged = (before: Hop, { provider }: Hop): boolean =>
  before.provider.revision !== provider.revision

const readingOf = (
  run: FailureRun,
  at: Instant,
): Omit<HopReading, 'provider' | 'upstreamName'> => ({
  failures: run.failures,
  restsUntil: isRestingAt(run, at) ? run.restsUntil : null,
  keepsFailing: run.failures >= FAILURES_BEFORE_REST || isOfOperator(run.last),
  needsOperator: isOfOperator(run.last),
  kind: run.last?.kind ?? 'failed',
  status: run.last?.details.status ?? null,
})

/** A rest longer than the maximum was begun before the clock was set back, and counts as over. */
const isRestingAt = ({ restsUntil }: FailureRun, at: Instant): boolean =>
  restsUntil !== null && at < restsUntil && restsUntil <= later(at, MAX_ASKED_REST_MS)

const NO_FAILURES: FailureRun = {
  last: null,
  failures: 0,
  restCount: 0,
  restsUntil: null,
  isProbed: false,
}

/** A caller's error, or an image that a model refused to generate, says nothing about the hop. */
const isHopFault = ({ kind, details }: UpstreamFailure): boolean =>
  kind !== 'rejected' && kind !== 'no-image' && details.permanent !== 'request'

function recordFailure(
  run: FailureRun,
  failure: UpstreamFailure,
  at: Instant,
  failuresBeforeRest: number,
): void {
  const { restsUntil, isProbed } = run
  run.failures++
  run.last = failure
  run.isProbed = false
  if (restsUntil !== null && isRestingAt(run, at) && !isProbed) {
    // A request sent before the rest began, so not the probe: it can only extend the rest, by the provider's `Retry-After`.
    const askedUntil = later(at, askedRestMs(failure) ?? 0)
    if (askedUntil > restsUntil) run.restsUntil = askedUntil
    return
  }
  const isDue = run.restCount > 0 || run.failures >= failuresBeforeRest
  const ms = askedRestMs(failure) ?? (isDue ? restMs(run.restCount) : null)
  if (ms === null) return
  run.restCount++
  run.restsUntil = later(at, ms)
}

/** An account that is rejected or out of credit. */
const isOfOperator = (failure: UpstreamFailure | null): boolean =>
  failure?.kind === 'unauthorized' || failure?.details.permanent === 'account'

/** The rest that the failure itself calls for; null if it says nothing. */
function askedRestMs(failure: UpstreamFailure): number | null {
  if (isOfOperator(failure)) return OPERATOR_REST_MS
  const { kind, details } = failure
  const { retryAfterSeconds } = details
  if (kind !== 'overloaded' || retryAfterSeconds === undefined) return null
  return Math.min(retryAfterSeconds * 1_000, MAX_ASKED_REST_MS)
}

const restMs = (rests: number): number =>
  Math.min(FIRST_REST_MS * 2 ** Math.min(rests, 16), MAX_REST_MS)
