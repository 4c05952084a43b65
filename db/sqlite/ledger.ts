/** The ledger in SQLite: credits, reading, and the audit of balances. */
import { and, desc, eq, gte, lt, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import { GatewayError } from '#domain/errors.ts'
import { chargeEntryId } from '#domain/id.ts'
import type { Ledger, LedgerEntry, LedgerQuery } from '#domain/ledger.ts'
import {
  addUsd,
  MOST_USD_NANOS,
  negateUsd,
  type RubPerUsd,
  readRubPerUsd,
  renderRubPerUsd,
  renderUsd,
  type UsdNanos,
} from '#domain/money.ts'
import type { Connection } from './connection.ts'
import { accounts, ledger } from './schema.ts'
import type { Standings } from './standing.ts'

export function createLedger({ database, commit }: Connection, standings: Standings): Ledger {
  const drizzle = openDrizzle({ client: database })

  const balanceOf = (entry: LedgerEntry): UsdNanos => {
    const row = drizzle.select().from(accounts).where(eq(accounts.id, entry.accountId)).get()
    if (!row) throw new GatewayError('account_not_found', `there is no account ${entry.accountId}`)
    return row.balance
  }

  const refuseRepeat = ({ ref }: LedgerEntry): void => {
    if (ref === null || !drizzle.select().from(ledger).where(eq(ledger.ref, ref)).get()) return
    throw new GatewayError(
      'already_exists',
      `an entry with the reference "${ref}" was applied before`,
      {
        hint: 'gatewayctl ledger list',
      },
    )
  }

  return {
    credit: (entry) =>
      commit.act(
        () => {
          refuseRepeat(entry)
          const balance = addUsd(balanceOf(entry), entry.amount)
          if (balance > MOST_USD_NANOS || balance < negateUsd(MOST_USD_NANOS)) {
            throw new GatewayError(
              'invalid_request',
              `a balance may not exceed $${renderUsd(MOST_USD_NANOS)} either way`,
            )
          }
          drizzle
            .insert(ledger)
            .values({ ...entry, rubPerUsd: renderRubPerUsd(entry.rubPerUsd) })
            .run()
          drizzle.update(accounts).set({ balance }).where(eq(accounts.id, entry.accountId)).run()
          return balance
        },
        (balance) => {
          standings.account(entry.accountId).balance = balance
        },
      ),

    async list(query) {
      commit.flush()
      const rows = drizzle
        .select()
        .from(ledger)
        .where(scopeOf(query))
        .orderBy(desc(ledger.id))
        .limit(query.limit)
        .all()
      return rows.map(toEntry)
    },

    async chargeOf(id) {
      commit.flush()
      const row = drizzle
        .select()
        .from(ledger)
        .where(eq(ledger.id, chargeEntryId(id)))
        .get()
      return row && toEntry(row)
    },

    async audit() {
      commit.flush()
      return drizzle
        .select({
          accountId: accounts.id,
          accountName: accounts.name,
          balance: accounts.balance,
          ledgerSum: sql<string>`CAST(coalesce(sum(${ledger.amount}), 0) AS TEXT)`,
        })
        .from(accounts)
        .leftJoin(ledger, eq(ledger.accountId, accounts.id))
        .groupBy(accounts.id)
        .all()
        .map((row) => ({ ...row, ledgerSum: BigInt(row.ledgerSum) as UsdNanos }))
    },
  }
}

const toEntry = (row: typeof ledger.$inferSelect): LedgerEntry => ({
  ...row,
  rubPerUsd: readRubPerUsd(row.rubPerUsd) as RubPerUsd,
})

const scopeOf = ({ accountId, keyId, kind, ref, since, until }: LedgerQuery) =>
  and(
    accountId && eq(ledger.accountId, accountId),
    keyId && eq(ledger.keyId, keyId),
    kind && eq(ledger.kind, kind),
    ref === undefined ? undefined : eq(ledger.ref, ref),
    since && gte(ledger.at, since),
    until && lt(ledger.at, until),
  )
