/** The verb that lists ledger entries, and their record. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { renderDay, renderInstant } from '#domain/clock.ts'
import type { EntryId } from '#domain/id.ts'
import { ENTRY_KINDS, type LedgerEntry } from '#domain/ledger.ts'
import { negateUsd, renderRub, renderRubPerUsd, renderUsd, toRub } from '#domain/money.ts'
import { statedIn } from '#domain/stated.ts'
import { accountField, orNull, pageField, textField, timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { findKeyOfRecords } from './find-key.ts'
import { verb } from './verb.ts'

export interface EntryRecord {
  readonly id: string
  /** The name of the account. */
  readonly account: string
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

export const renderEntry = (entry: LedgerEntry, account: string): EntryRecord => ({
  id: entry.id,
  account,
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

const rangeFields = {
  account: accountField,
  key: orNull(textField),
  kind: orNull(z.enum(ENTRY_KINDS)),
  since: orNull(timeField),
  until: orNull(timeField),
  /** The last entry of the page before. */
  before: orNull(z.string()),
}

const rangeForm = z.object(rangeFields)

async function toRange(deps: OperatorDeps, { id }: Account, input: z.output<typeof rangeForm>) {
  const { key: text, kind, since, until, before } = input
  // Another account's key is an error, because an empty list would mean that it has no charges.
  const key = text === null ? null : await findKeyOfRecords(deps, text, id)
  const filter = { keyId: key?.id, kind, since, until, before: before as EntryId | null }
  return { accountId: id, ...statedIn(filter) }
}

/** Newest first. @throws account_not_found, key_not_found */
export const listLedger = verb(
  z.strictObject({
    ...rangeFields,
    limit: pageField(MAX_ENTRIES),
  }),
  async (deps, input): Promise<readonly EntryRecord[]> => {
    const account = await findAccount(deps, input.account)
    const query = { ...(await toRange(deps, account, input)), limit: input.limit }
    return (await deps.store.ledger.list(query)).map((entry) => renderEntry(entry, account.name))
  },
)

/** How many entries match. @throws account_not_found, key_not_found */
export const countLedger = verb(z.strictObject(rangeFields), async (deps, input) => {
  const account = await findAccount(deps, input.account)
  return { count: await deps.store.ledger.count(await toRange(deps, account, input)) }
})
