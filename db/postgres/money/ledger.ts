/** The ledger in PostgreSQL. */
import { and, desc, eq, gte, lt } from 'drizzle-orm'
import type { Catalogues } from '#domain/catalogue.ts'
import { chargeEntryId, type EntryId } from '#domain/id.ts'
import type { Ledger, LedgerQuery } from '#domain/ledger.ts'
import { appliedBefore, prepareCredit, type References } from '../../money/credit.ts'
import { ledgerFilter } from '../../rows/ledger-filter.ts'
import { toEntry, writtenIn } from '../../rows/ledger-row.ts'
import { ledger } from '../../rows/tables.ts'
import { type Engine, get } from '../../statements.ts'
import type { Database } from '../engine/database.ts'
import { ACCOUNTS } from './accounts.ts'

const REFERENCES: References = {
  *find(ref) {
    return (yield* get<{ id: EntryId }>('SELECT id FROM ledger WHERE ref = $ref', { ref }))?.id
  },
  disputed: appliedBefore,
}

export function createLedger(database: Database, engine: Engine, catalogue: Catalogues): Ledger {
  const scopeOf = (query: Omit<LedgerQuery, 'limit'>) => {
    const { from, below } = query.ref === undefined ? writtenIn(query) : {}
    return and(
      ledgerFilter(ledger, query),
      from === undefined ? undefined : gte(ledger.id, from as never),
      below === undefined ? undefined : lt(ledger.id, below as never),
    )
  }
  return {
    credit: prepareCredit(engine, ACCOUNTS, REFERENCES, catalogue),

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
