/** An entry of the ledger as its row and as the domain's noun, and where those of a time stand. */
import { DAY_MS, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { entriesFrom } from '#domain/id.ts'
import type { LedgerEntry, LedgerQuery } from '#domain/ledger.ts'
import {
  MAX_USD_NANOS,
  negateUsd,
  type RubPerUsd,
  readRubPerUsd,
  renderUsd,
  type UsdNanos,
} from '#domain/money.ts'
import { belowBoth, type Slice } from './slice.ts'
import type { ledger } from './tables.ts'

/** A charge is written when its request ends, which is a day after it began at the latest, and named after its beginning. */
const MAX_REQUEST_MS = DAY_MS + 3_600_000

export const writtenIn = ({
  since,
  until,
  before,
}: Omit<LedgerQuery, 'limit'>): Partial<Slice> => ({
  ...(since !== undefined && { from: entriesFrom(later(since, -MAX_REQUEST_MS)) }),
  ...belowBoth(until === undefined ? undefined : entriesFrom(until), before),
})

export const toEntry = (row: typeof ledger.$inferSelect): LedgerEntry => ({
  ...row,
  rubPerUsd: readRubPerUsd(row.rubPerUsd) as RubPerUsd,
})

export function rejectOutOfRange(balance: UsdNanos): void {
  if (balance <= MAX_USD_NANOS && balance >= negateUsd(MAX_USD_NANOS)) return
  throw new GatewayError(
    'invalid_request',
    `a balance may not exceed $${renderUsd(MAX_USD_NANOS)} either way`,
  )
}
