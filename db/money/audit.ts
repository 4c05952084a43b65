/** What an audit says of the sums that an engine has added up, and of the log. */
import { type Audit, type AuditFinding, type KeptSum, MAX_BEYOND_HOLD } from '#domain/audit.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { fromInteger } from '../rows/amount.ts'
import { all, count, type Statements } from '../statements.ts'

/** A balance has neither day nor end user, and no requests; a day of a key no end user, one of moved keys no requests. They are 0 and empty. */
export interface SumRow {
  readonly what: KeptSum
  readonly subject: AccountId | KeyId
  readonly day: Day
  readonly endUser: string
  readonly ledger: UsdNanos
  readonly kept: UsdNanos
  readonly charges: number
  readonly requests: number
}

export function judgeSum(row: SumRow): readonly AuditFinding[] {
  const { what, subject, kept, ledger, charges, requests } = row
  const where = {
    day: what === 'balance' ? null : row.day,
    endUser: what === 'end_user_day' ? row.endUser : null,
  }
  return [
    ...(kept === ledger ? [] : [{ what, subject, ...where, kept, ledger }]),
    ...(charges <= requests
      ? []
      : [{ what: 'requests' as const, subject, ...where, requests, charges }]),
  ]
}

interface BeyondHoldRow {
  readonly generation_id: GenerationId
  readonly cost_nanos: number
  readonly hold_nanos: number
}

/** `activity`: the log, as a statement names it. */
export function* readBeyondHold(
  activity: string,
): Statements<Pick<Audit, 'beyondHold' | 'latestBeyondHold'>> {
  const lines = `${activity} WHERE cost_nanos > hold_nanos`
  const latest = yield* all<BeyondHoldRow>(
    `SELECT generation_id, cost_nanos, hold_nanos FROM ${lines} ORDER BY started_at DESC LIMIT ${MAX_BEYOND_HOLD}`,
  )
  return {
    beyondHold: yield* count(lines),
    latestBeyondHold: latest.map((row) => ({
      generationId: row.generation_id,
      cost: fromInteger(row.cost_nanos),
      hold: fromInteger(row.hold_nanos),
    })),
  }
}
