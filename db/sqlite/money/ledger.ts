/** The ledger in SQLite: credits, and reading. */
import { and, count, desc, eq, getTableColumns, gte, lt, or, type SQL, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Catalogues } from '#domain/catalogue.ts'
import { DAY_MS, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { chargeEntryId, type EntryId, entriesFrom } from '#domain/id.ts'
import type { Ledger, LedgerEntry, LedgerQuery } from '#domain/ledger.ts'
import {
  addUsd,
  MAX_USD_NANOS,
  NO_MONEY,
  negateUsd,
  type RubPerUsd,
  readRubPerUsd,
  renderRubPerUsd,
  renderUsd,
  type UsdNanos,
} from '#domain/money.ts'
import type { HotState } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { belowBoth, EVERYTHING, type Slice, slicesBack } from '../engine/slices.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { accounts, ledger } from '../schema.ts'
import { type HotThreshold, judgeMark, type MarkChange, prepareMarkWriter } from './low-balance.ts'

export function createLedger(
  connection: Connection,
  hotState: HotState,
  catalogue: Catalogues,
): Ledger {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })
  const writeMark = prepareMarkWriter(connection, catalogue)
  const noteAct = prepareNoteAct(database)

  const balanceOf = (entry: LedgerEntry): UsdNanos => {
    const row = drizzle.select().from(accounts).where(eq(accounts.id, entry.accountId)).get()
    if (!row) throw new GatewayError('account_not_found', `there is no account ${entry.accountId}`)
    return row.balance
  }

  const rejectDuplicateRef = ({ ref }: LedgerEntry): void => {
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
    async credit(entry, act) {
      const { balance } = await commit.commitDurably(
        () => {
          rejectDuplicateRef(entry)
          const balance = addUsd(balanceOf(entry), entry.amount)
          rejectOutOfRange(balance)
          // Read before anything is written, so that a rolled back balance is never kept in memory.
          const { threshold } = hotState.account(entry.accountId)
          noteAct(act)
          drizzle
            .insert(ledger)
            .values({ ...entry, rubPerUsd: renderRubPerUsd(entry.rubPerUsd) })
            .run()
          drizzle.update(accounts).set({ balance }).where(eq(accounts.id, entry.accountId)).run()
          const change = threshold && judgeCredit(entry, threshold, balance)
          if (change) writeMark(change)
          return { balance, change }
        },
        ({ balance, change }) => {
          const account = hotState.account(entry.accountId)
          account.balance = balance
          if (account.threshold && change) account.threshold.mark = change.mark
        },
      )
      return balance
    },

    ...readLedger(connection),
  }
}

function readLedger({ database, commit }: Connection): Pick<Ledger, 'list' | 'count' | 'chargeOf'> {
  const drizzle = openDrizzle({ client: database })
  return {
    async list(query) {
      commit.flush()
      const scope = scopeOf(query)
      const entries = (slice: Slice, limit: number): LedgerEntry[] =>
        requireSound(
          drizzle
            .select({ ...getTableColumns(ledger), isUnsound: sql<number>`${IS_UNSOUND}` })
            .from(ledger)
            // An index of references has no unsound rows to look for.
            .where(and(within(slice), query.ref === undefined ? orUnsound(scope) : scope))
            .orderBy(desc(ledger.id))
            .limit(limit)
            .all(),
        ).map(toEntry)
      // A reference has an index of its own.
      if (query.ref !== undefined) return entries(EVERYTHING, query.limit)
      const found: LedgerEntry[] = []
      for await (const slice of slicesBack(database, 'ledger', writtenIn(query))) {
        found.push(...entries(slice, query.limit - found.length))
        if (found.length >= query.limit) break
      }
      return found
    },

    async count(query) {
      commit.flush()
      let found = 0
      for await (const slice of slicesBack(database, 'ledger', writtenIn(query))) {
        const row = drizzle
          .select({ n: count() })
          .from(ledger)
          .where(and(within(slice), scopeOf(query)))
          .get()
        found += row?.n ?? 0
      }
      return found
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
  }
}

/** A charge is written when its request ends, which is a day after it began at the latest, and named after its beginning. */
const MAX_REQUEST_MS = DAY_MS + 3_600_000

const writtenIn = ({ since, until, before }: Omit<LedgerQuery, 'limit'>): Partial<Slice> => ({
  ...(since !== undefined && { from: entriesFrom(later(since, -MAX_REQUEST_MS)) }),
  ...belowBoth(until === undefined ? undefined : entriesFrom(until), before),
})

/** Without a bound where there is none: a damaged id would end the search for it too early, and hide the rows behind. */
const within = ({ from, below }: Slice) =>
  and(
    from === EVERYTHING.from ? undefined : gte(ledger.id, from as EntryId),
    below === EVERYTHING.below ? undefined : lt(ledger.id, below as EntryId),
  )

/** Nothing examines this table at the start, and no filter may leave out a row because its bytes were overwritten. */
const IS_UNSOUND = sql`((${ledger.id} GLOB 'led_*') IS NOT 1
  OR NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = ${ledger.accountId}))`

const orUnsound = (scope: SQL | undefined) => scope && or(scope, IS_UNSOUND)

type Row = typeof ledger.$inferSelect

/** Newest first. @throws store_unavailable when the bytes of one were overwritten */
function requireSound<Found extends Row & { isUnsound: number }>(rows: readonly Found[]) {
  const isSound = rows.every(({ id, isUnsound }, at) => {
    const newer = rows[at - 1]
    return isUnsound === 0 && (newer === undefined || id < newer.id)
  })
  if (!isSound) throw unavailable('damaged')
  return rows
}

const toEntry = ({ isUnsound: _, ...row }: Row & { isUnsound?: number }): LedgerEntry => ({
  ...row,
  rubPerUsd: readRubPerUsd(row.rubPerUsd) as RubPerUsd,
})

function rejectOutOfRange(balance: UsdNanos): void {
  if (balance <= MAX_USD_NANOS && balance >= negateUsd(MAX_USD_NANOS)) return
  throw new GatewayError(
    'invalid_request',
    `a balance may not exceed $${renderUsd(MAX_USD_NANOS)} either way`,
  )
}

/** An adjustment downwards is a debit like any charge. */
const judgeCredit = (
  { accountId, amount, at }: LedgerEntry,
  threshold: HotThreshold,
  balance: UsdNanos,
): MarkChange | null =>
  judgeMark(accountId, threshold, balance, amount < NO_MONEY ? 'debit' : 'credit', at)

const scopeOf = ({ accountId, keyId, kind, ref, since, until }: Omit<LedgerQuery, 'limit'>) =>
  and(
    accountId && eq(ledger.accountId, accountId),
    keyId && eq(ledger.keyId, keyId),
    kind && eq(ledger.kind, kind),
    ref === undefined ? undefined : eq(ledger.ref, ref),
    since === undefined ? undefined : gte(ledger.at, since),
    until === undefined ? undefined : lt(ledger.at, until),
  )
