/** Settlement: a batch of ended requests is resolved by one call. */
import type { Settlement } from '#domain/admission.ts'
import type { GenerationId } from '#domain/id.ts'
import { renderRubPerUsd } from '#domain/money.ts'
import { activityValues } from '../../rows/activity-row.ts'
import type { Sql } from '../engine/database.ts'

export interface Ended {
  readonly id: GenerationId
  readonly settlement: Settlement
}

/** Of the columns of a line behind its id. */
const LINE =
  'text text text boolean text text text boolean bigint text text text bigint bigint bigint bigint bigint bigint bigint bigint bigint bigint bigint bigint bigint bigint text bigint bigint text bigint bigint text text text bigint bigint bigint text text text text text text text'.split(
    ' ',
  )

export const LINE_ARRAYS: readonly string[] = LINE.map((type) => `?::${type}[]`)

const SETTLE = `SELECT gen, passed FROM settle(?::text[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bigint[], ${LINE_ARRAYS.join(', ')})`

/** Each column of these rows. */
export const toColumns = <Value>(
  rows: readonly (readonly Value[])[],
): readonly (readonly Value[])[] =>
  (rows[0] ?? []).map((_, nth) => rows.map((row) => row[nth] as Value))

export interface Settled {
  /** Those that were open. */
  readonly ids: ReadonlySet<GenerationId>
  /** Whether something is to be told. */
  readonly passed: boolean
}

export async function askSettlement(sql: Sql, batch: readonly Ended[]): Promise<Settled> {
  // Of one that is settled twice at the same moment the first counts.
  const acts = [...new Map(batch.toReversed().map((act) => [act.id, act])).values()]
  // The moment of its admission is that of its hold.
  const lines = acts.map(({ settlement: { activity } }) =>
    activityValues(activity, activity.startedAt).slice(1),
  )
  const charges = acts.map(({ settlement }) => settlement.charge)
  const rows = await sql.all<{ gen: GenerationId; passed: boolean }>(
    SETTLE,
    acts.map(({ id }) => id),
    acts.map(({ settlement }) => settlement.at),
    charges.map((charge) => charge?.amount ?? null),
    charges.map((charge) => charge && renderRubPerUsd(charge.rubPerUsd)),
    charges.map((charge) => charge?.priceVersion ?? null),
    acts.map(({ settlement }) => settlement.answer?.id ?? null),
    ...toColumns(lines),
  )
  return { ids: new Set(rows.map(({ gen }) => gen)), passed: rows.some(({ passed }) => passed) }
}
