/** Compares what was charged with the costs that providers state. */

import * as z from 'zod/mini'
import { type Drift, driftUsd } from '#domain/drift.ts'
import { renderUsd } from '#domain/money.ts'
import { statedIn } from '#domain/stated.ts'
import { orNull, scopeField, timeField } from '#forms/fields.ts'
import { percentOf } from './activity-record.ts'
import { findScope } from './find-account.ts'
import { verb } from './verb.ts'

export interface DriftRecord {
  readonly model: string
  /** Charged requests with a stated cost. */
  readonly requests: number
  readonly charged_usd: string
  readonly stated_usd: string
  /** Stated minus charged: positive when the provider charges more than we do. */
  readonly difference_usd: string
  /** Relative to the charged amount. */
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

/** Sorted by the absolute difference, largest first; of all accounts unless one is named. @throws account_not_found */
export const showDrift = verb(
  z.strictObject({ account: scopeField, since: orNull(timeField) }),
  async (deps, { account, since }): Promise<readonly DriftRecord[]> => {
    const within = await findScope(deps, account)
    const drifts = await deps.store.activity.drift(statedIn({ accountId: within?.id, since }))
    return drifts.toSorted((a, b) => Number(sizeOf(b) - sizeOf(a))).map(render)
  },
)
