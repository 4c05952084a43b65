/** Which entries of the ledger a query asks for. */
import { and, type Column, eq, gte, lt, type SQL } from 'drizzle-orm'
import type { LedgerQuery } from '#domain/ledger.ts'

type LedgerColumns = Readonly<Record<'accountId' | 'at' | 'keyId' | 'kind' | 'ref', Column>>

/** What an entry must match, but where it stands in the order of ids. */
export const ledgerFilter = (
  ledger: LedgerColumns,
  { accountId, keyId, kind, ref, since, until }: Omit<LedgerQuery, 'limit'>,
): SQL | undefined =>
  and(
    accountId && eq(ledger.accountId, accountId),
    keyId && eq(ledger.keyId, keyId),
    kind && eq(ledger.kind, kind),
    ref === undefined ? undefined : eq(ledger.ref, ref),
    since === undefined ? undefined : gte(ledger.at, since),
    until === undefined ? undefined : lt(ledger.at, until),
  )
