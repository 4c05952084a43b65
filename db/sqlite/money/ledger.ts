/** The ledger in SQLite: credits, and reading. */
import type { Database } from 'bun:sqlite'
import { eq, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Catalogues } from '#domain/catalogue.ts'
import { GatewayError } from '#domain/errors.ts'
import { chargeEntryId, type EntryId, isEntryId } from '#domain/id.ts'
import type { Ledger, LedgerEntry, LedgerQuery } from '#domain/ledger.ts'
import { addUsd, NO_MONEY, renderRubPerUsd, type UsdNanos } from '#domain/money.ts'
import { ledgerFilter } from '../../rows/ledger-filter.ts'
import { rejectOutOfRange, toEntry, writtenIn } from '../../rows/ledger-row.ts'
import { type HotThreshold, judgeMark, type MarkChange } from '../../rows/low-balance.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import { ledger } from '../../rows/tables.ts'
import type { HotState } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { openSoundLog } from '../engine/sound-log.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { accounts } from '../schema.ts'
import { prepareMarkWriter } from './low-balance.ts'

export function createLedger(
  connection: Connection,
  hotState: HotState,
  catalogue: Catalogues,
): Ledger {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })
  const writeMark = prepareMarkWriter(connection, catalogue)
  const noteAct = prepareNoteAct(database)
  const findRef = prepareFindRef(database)

  const balanceOf = (entry: LedgerEntry): UsdNanos => {
    const row = drizzle.select().from(accounts).where(eq(accounts.id, entry.accountId)).get()
    if (!row) throw new GatewayError('account_not_found', `there is no account ${entry.accountId}`)
    return row.balance
  }

  const rejectDuplicateRef = ({ ref }: LedgerEntry): void => {
    if (ref === null || findRef(ref) === undefined) return
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
          const written = drizzle
            .insert(ledger)
            .values({ ...entry, rubPerUsd: renderRubPerUsd(entry.rubPerUsd) })
            .onConflictDoNothing()
            .returning({ id: ledger.id })
            .get()
          // Its reference was not found above, and is in the index: one of the two looks went through a damaged page.
          if (written === undefined) throw unavailable('damaged')
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

    ...readLedger(connection, findRef),
  }
}

/** Whatever a list is filtered by stands between its id and its rate. */
const LOG = {
  table: ledger,
  id: ledger.id,
  isId: isEntryId,
  isUnsound: sql<number>`(${ledger.rubPerUsd} GLOB '*[^0-9.]*'
    OR NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = ${ledger.accountId}))`,
}

function readLedger(
  { database, commit }: Connection,
  findRef: (ref: string) => EntryId | undefined,
): Pick<Ledger, 'list' | 'count' | 'chargeOf'> {
  const log = openSoundLog(database, LOG)
  return {
    async list(query) {
      commit.flushAwaited()
      const { ref, limit } = query
      const id = ref === undefined ? null : findRef(ref)
      if (id === undefined) return []
      const bounds = id === null ? writtenIn(query) : { from: id, below: id + BEHIND_ALL }
      return (await log.newest(scopeOf(query), bounds, limit)).map(toEntry)
    },

    async count(query) {
      commit.flushAwaited()
      return await log.count(scopeOf(query), writtenIn(query))
    },

    async chargeOf(id) {
      commit.flushAwaited()
      const row = log.find(chargeEntryId(id))
      return row && toEntry(row)
    },
  }
}

interface RefRow {
  readonly id: EntryId
  readonly isSought: number
  readonly isKept: number
}

/** The entry of a reference. The index of references may be overwritten as well: what is beside it there must be in the table. */
function prepareFindRef(database: Database): (ref: string) => EntryId | undefined {
  const side = (rest: string) =>
    `SELECT * FROM (SELECT ref, id FROM ledger INDEXED BY ledger_refs WHERE ref ${rest} LIMIT 1)`
  const beside = statement<RefRow, [string]>(
    database,
    `SELECT beside.id AS id, beside.ref = ?1 AS isSought, beside.ref IS ledger.ref AS isKept
     FROM (${side('>= ?1 ORDER BY ref')} UNION ALL ${side('< ?1 ORDER BY ref DESC')}) AS beside
     LEFT JOIN ledger ON ledger.id = beside.id`,
  )
  return (ref) => {
    const rows = beside().all(ref)
    if (rows.some(({ isKept }) => isKept !== 1)) throw unavailable('damaged')
    return rows.find(({ isSought }) => isSought === 1)?.id
  }
}

/** An adjustment downwards is a debit like any charge. */
const judgeCredit = (
  { accountId, amount, at }: LedgerEntry,
  threshold: HotThreshold,
  balance: UsdNanos,
): MarkChange | null =>
  judgeMark(accountId, threshold, balance, amount < NO_MONEY ? 'debit' : 'credit', at)

const scopeOf = (query: Omit<LedgerQuery, 'limit'>) => ledgerFilter(ledger, query)
