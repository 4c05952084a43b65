/** Records of a route's hop and its health. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import type { RouteHop } from '#domain/route.ts'
import type { HopReading } from '#domain/walk/hop-health.ts'

export interface HopRecord {
  /** Lower positions are tried first. */
  readonly position: number
  /** Its share of the requests among the hops of one position. */
  readonly weight: number
  readonly provider: string
  /** The provider's name for the model. */
  readonly upstream: string
}

export const renderHop = ({ position, weight, provider, upstreamName }: RouteHop): HopRecord => ({
  position,
  weight,
  provider,
  upstream: upstreamName,
})

/** Sorted, because the order within a position has no meaning. */
export const inOrder = (hops: readonly HopRecord[]): readonly HopRecord[] =>
  hops.toSorted((a, b) => a.position - b.position || (a.provider < b.provider ? -1 : 1))

export interface HealthRecord {
  /** Resting hops are tried after all others. */
  readonly state: 'serving' | 'resting'
  readonly failures_in_a_row: number
  /** Null while it serves. */
  readonly rests_until: string | null
}

type Reading = Pick<HopReading, 'failures' | 'restsUntil'>

const HEALTHY: Reading = { failures: 0, restsUntil: null }

/** A hop without a reading is healthy: only recent failures are kept. */
export const renderHealth = ({ failures, restsUntil }: Reading = HEALTHY): HealthRecord => ({
  state: restsUntil === null ? 'serving' : 'resting',
  failures_in_a_row: failures,
  rests_until: renderInstant(restsUntil),
})

/** The longest rest and the most failures in a row of several hops, or of one in several processes. */
export const worstOf = (readings: readonly Reading[]): Reading =>
  readings.reduce(
    (worst, { failures, restsUntil }) => ({
      failures: Math.max(worst.failures, failures),
      restsUntil: latest(worst.restsUntil, restsUntil),
    }),
    HEALTHY,
  )

const latest = (a: Instant | null, b: Instant | null): Instant | null =>
  a === null || (b !== null && b > a) ? b : a
