/** Usage over all requests: how our prices compare with what providers say that they charge. */
import * as z from 'zod/mini'
import { type Drift, driftUsd } from '#domain/drift.ts'
import { renderUsd } from '#domain/money.ts'
import { timeField } from '#forms/fields.ts'
import { percentOf } from './activity-record.ts'
import { verb } from './verb.ts'

export interface DriftRecord {
  readonly model: string
  /** Those that were charged and whose provider stated a cost. */
  readonly requests: number
  readonly charged_usd: string
  readonly stated_usd: string
  /** Stated less charged: positive where the provider takes more than we do. */
  readonly difference_usd: string
  /** Of what was charged. */
  readonly difference_percent: number | null
}

const render = (drift: Drift): DriftRecord => ({
  model: drift.model,
  requests: drift.requests,
  charged_usd: renderUsd(drift.charged),
  stated_usd: renderUsd(drift.stated),
  difference_usd: renderUsd(driftUsd(drift)),
  difference_percent: percentOf(drift),
})

const sizeOf = (drift: Drift): bigint => {
  const difference = driftUsd(drift)
  return difference < 0n ? -difference : difference
}

/** The largest difference first, either way. */
export const showDrift = verb(
  z.strictObject({ since: z._default(z.nullable(timeField), null) }),
  async ({ store }, { since }): Promise<readonly DriftRecord[]> => {
    const drifts = await store.activity.drift(since === null ? {} : { since })
    return drifts.toSorted((a, b) => Number(sizeOf(b) - sizeOf(a))).map(render)
  },
)
