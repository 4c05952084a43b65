/** The ledger in SQLite. */
import { sql } from 'drizzle-orm'
import type { Catalogues } from '#domain/catalogue.ts'
import { chargeEntryId, type EntryId, isEntryId } from '#domain/id.ts'
import type { Ledger, LedgerQuery } from '#domain/ledger.ts'
import type { AccountsOf } from '../../money/accounts.ts'
import { prepareCredit, type References } from '../../money/credit.ts'
import { ledgerFilter } from '../../rows/ledger-filter.ts'
import { toEntry, writtenIn } from '../../rows/ledger-row.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import { ledger } from '../../rows/tables.ts'
import { all, type Engine } from '../../statements.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { openSoundLog } from '../engine/sound-log.ts'

export function createLedger(
  connection: Connection,
  engine: Engine,
  accounts: AccountsOf,
  catalogue: Catalogues,
): Ledger {
  return {
    credit: prepareCredit(engine, accounts, REFERENCES, catalogue),
    ...readLedger(connection, engine),
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
  engine: Engine,
): Pick<Ledger, 'list' | 'count' | 'chargeOf'> {
  const log = openSoundLog(database, LOG)
  return {
    async list(query) {
      commit.flushAwaited()
      const { ref, limit } = query
      const id = ref === undefined ? null : await engine.read(() => REFERENCES.find(ref))
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

const side = (rest: string): string =>
  `SELECT * FROM (SELECT ref, id FROM ledger INDEXED BY ledger_refs WHERE ref ${rest} LIMIT 1)`

const BESIDE = `
  SELECT beside.id AS id, beside.ref = $ref AS isSought, beside.ref IS ledger.ref AS isKept
  FROM (${side('>= $ref ORDER BY ref')} UNION ALL ${side('< $ref ORDER BY ref DESC')}) AS beside
  LEFT JOIN ledger ON ledger.id = beside.id`

const REFERENCES: References = {
  /** The index of references may be overwritten as well: what is beside one there must be in the table. */
  *find(ref) {
    const rows = yield* all<RefRow>(BESIDE, { ref })
    if (rows.some(({ isKept }) => isKept !== 1)) throw unavailable('damaged')
    return rows.find(({ isSought }) => isSought === 1)?.id
  },
  // One of the two looks went through a damaged page.
  disputed: () => unavailable('damaged'),
}

const scopeOf = (query: Omit<LedgerQuery, 'limit'>) => ledgerFilter(ledger, query)
