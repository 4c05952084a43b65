/** The ledger in PostgreSQL: credits, and reading. */
import { and, desc, eq, gte, lt } from 'drizzle-orm'
import type { Catalogues } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import { chargeEntryId } from '#domain/id.ts'
import type { Ledger, LedgerQuery } from '#domain/ledger.ts'
import { addUsd, NO_MONEY, renderRubPerUsd, type UsdNanos } from '#domain/money.ts'
import { ledgerFilter } from '../../rows/ledger-filter.ts'
import { rejectOutOfRange, toEntry, writtenIn } from '../../rows/ledger-row.ts'
import { judgeMark } from '../../rows/low-balance.ts'
import { ledger } from '../../rows/tables.ts'
import type { Database } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { lockAccount } from './lock-account.ts'
import { hotThresholdOf, type ThresholdRow, writeMark } from './low-balance.ts'

export function createLedger(database: Database, catalogue: Catalogues): Ledger {
  const scopeOf = (query: Omit<LedgerQuery, 'limit'>) => {
    const { from, below } = query.ref === undefined ? writtenIn(query) : {}
    return and(
      ledgerFilter(ledger, query),
      from === undefined ? undefined : gte(ledger.id, from as never),
      below === undefined ? undefined : lt(ledger.id, below as never),
    )
  }
  return {
    async credit(entry, act) {
      const { accountId, amount, at, ref } = entry
      await database.flush()
      return await database.change(async (tx) => {
        await lockAccount(tx, accountId)
        const row = await tx.get<Partial<ThresholdRow> & { readonly balance_nanos: number }>(
          `SELECT s.balance_nanos, t.* FROM account_state s LEFT JOIN thresholds t ON t.account_id = s.account_id
           WHERE s.account_id = ?`,
          accountId,
        )
        if (ref !== null && (await tx.get('SELECT 1 FROM ledger WHERE ref = ?', ref)) !== null) {
          throw new GatewayError(
            'already_exists',
            `an entry with the reference "${ref}" was applied before`,
            { hint: 'gatewayctl ledger list' },
          )
        }
        if (row === null) {
          throw new GatewayError('account_not_found', `there is no account ${accountId}`)
        }
        const balance = addUsd(BigInt(row.balance_nanos) as UsdNanos, amount)
        rejectOutOfRange(balance)
        await noteAct(tx, act)
        await tx.run(
          `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, day, end_user, rub_per_usd, price_version, note, ref)
           VALUES ($id, $accountId, $kind, $amount, $at, $keyId, $generationId, $day, $endUser, $rubPerUsd, $priceVersion, $note, $ref)`,
          { ...entry, rubPerUsd: renderRubPerUsd(entry.rubPerUsd) },
        )
        await tx.run(
          'UPDATE account_state SET balance_nanos = ? WHERE account_id = ?',
          balance,
          accountId,
        )
        const threshold = hotThresholdOf(accountId, row)
        // An adjustment downwards is a debit like any charge.
        const movement = amount < NO_MONEY ? 'debit' : 'credit'
        const change = threshold && judgeMark(accountId, threshold, balance, movement, at)
        if (change) await writeMark(tx, catalogue, change)
        return balance
      })
    },

    async list(query) {
      await database.flush()
      const { before, limit } = query
      const rows = await database.query((drizzle) =>
        drizzle
          .select()
          .from(ledger)
          .where(and(scopeOf(query), before === undefined ? undefined : lt(ledger.id, before)))
          .orderBy(desc(ledger.id))
          .limit(limit),
      )
      return rows.map(toEntry)
    },

    async count(query) {
      await database.flush()
      return await database.query((drizzle) => drizzle.$count(ledger, scopeOf(query)))
    },

    async chargeOf(id) {
      await database.flush()
      const [row] = await database.query((drizzle) =>
        drizzle
          .select()
          .from(ledger)
          .where(eq(ledger.id, chargeEntryId(id))),
      )
      return row && toEntry(row)
    },
  }
}
