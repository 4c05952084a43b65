/** The verb that lists ledger entries, and their record. */

import * as z from 'zod/mini'
import { renderDay, renderInstant } from '#domain/clock.ts'
import type { LedgerEntry, LedgerQuery } from '#domain/ledger.ts'
import { negateUsd, renderRub, renderRubPerUsd, renderUsd, toRub } from '#domain/money.ts'
import { accountField, timeField } from '#forms/fields.ts'
import { findAccount } from './find-account.ts'
import { findKey } from './find-key.ts'
import { verb } from './verb.ts'

export interface EntryRecord {
  readonly id: string
  readonly at: string
  readonly kind: string
  /** Signed: a charge is negative. */
  readonly amount_usd: string
  /** A charge in rubles at its recorded exchange rate; null for other entries. */
  readonly cost_rub: number | null
  readonly rub_per_usd: string
  readonly key_id: string | null
  readonly generation_id: string | null
  /** The UTC day whose spend limits a charge counted against. */
  readonly day: string | null
  /** Empty for end users beyond those that are counted separately. */
  readonly user: string | null
  readonly price_version: string | null
  readonly note: string | null
  readonly ref: string | null
}

export const renderEntry = (entry: LedgerEntry): EntryRecord => ({
  id: entry.id,
  at: renderInstant(entry.at),
  kind: entry.kind,
  amount_usd: renderUsd(entry.amount),
  cost_rub:
    entry.kind === 'charge' ? renderRub(toRub(negateUsd(entry.amount), entry.rubPerUsd)) : null,
  rub_per_usd: renderRubPerUsd(entry.rubPerUsd),
  key_id: entry.keyId,
  generation_id: entry.generationId,
  day: entry.day === null ? null : renderDay(entry.day),
  user: entry.endUser,
  price_version: entry.priceVersion,
  note: entry.note,
  ref: entry.ref,
})

const MAX_ENTRIES = 100_000

/** Newest first. @throws account_not_found, key_not_found */
export const listLedger = verb(
  z.strictObject({
    account: accountField,
    key: z._default(z.nullable(z.string().check(z.minLength(1))), null),
    kind: z._default(z.nullable(z.enum(['charge', 'top_up', 'adjust', 'refund'])), null),
    since: z._default(z.nullable(timeField), null),
    until: z._default(z.nullable(timeField), null),
    limit: z._default(z.int().check(z.minimum(1), z.maximum(MAX_ENTRIES)), 50),
  }),
  async (deps, input): Promise<readonly EntryRecord[]> => {
    const account = await findAccount(deps, input.account)
    // Another account's key is an error, because an empty list would mean that it has no charges.
    const key = input.key === null ? null : await findKey(deps, input.key, account.id)
    const query: LedgerQuery = {
      accountId: account.id,
      limit: input.limit,
      ...(key === null ? {} : { keyId: key.id }),
      ...(input.kind === null ? {} : { kind: input.kind }),
      ...(input.since === null ? {} : { since: input.since }),
      ...(input.until === null ? {} : { until: input.until }),
    }
    return (await deps.store.ledger.list(query)).map(renderEntry)
  },
)
