/** The audit in SQLite: compares the ledger with the stored sums, in one snapshot. */
import type { Database } from 'bun:sqlite'
import { type Audit, type AuditFinding, MAX_FINDINGS } from '#domain/audit.ts'
import type { AccountId } from '#domain/id.ts'
import type { BalanceAudit } from '#domain/ledger.ts'
import { NO_MONEY } from '#domain/money.ts'
import { judgeSum, readBeyondHold, type SumRow } from '../../money/audit.ts'
import type { HotState, LiveSums } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { openSnapshot } from '../engine/reading.ts'
import { auditHolds, auditLive } from './audit-live.ts'
import { addUp } from './audit-sums.ts'

/** Works in slices, between which requests are served. @throws store_unavailable */
export async function audit(connection: Connection, hotState: HotState): Promise<Audit> {
  const snapshot = openSnapshot(connection)
  // In the same turn as the snapshot, so that memory and tables agree.
  const live = hotState.copySums()
  try {
    return await compare(snapshot.database, live)
  } finally {
    snapshot.close()
  }
}

/** Of a database that nobody has open: no sum is in memory, and no request in progress. */
export const auditAtRest = (database: Database): Promise<Audit> =>
  compare(database, { accounts: [], keys: [], open: [] })

/** Compares stored sums with the ledger in a database that is not being served. */
export async function auditSums(
  database: Database,
): Promise<{ readonly entries: number; readonly found: number }> {
  const sums = await addUp(database)
  let found = 0
  for await (const rows of sums.walk()) found += rows.flatMap(judgeSum).length
  return { entries: sums.entries, found }
}

async function compare(database: Database, live: LiveSums): Promise<Audit> {
  const sums = await addUp(database)
  const balances = new Map<string, SumRow>()
  const counts = { balance: 0, key_day: 0, moved_day: 0, end_user_day: 0 }
  const findings: AuditFinding[] = []
  let found = 0
  const note = (some: readonly AuditFinding[]): void => {
    found += some.length
    findings.push(...some.slice(0, MAX_FINDINGS - findings.length))
  }

  for await (const rows of sums.walk()) {
    for (const row of rows) {
      counts[row.what]++
      if (row.what === 'balance') balances.set(row.subject, row)
      note(judgeSum(row))
    }
  }
  note(auditHolds(database, live))
  for await (const some of auditLive(sums, live)) note(some)
  return {
    entries: sums.entries,
    balances: namesOf(database).map(({ id, name }) => toBalance(id, name, balances.get(id))),
    keyDays: counts.key_day,
    endUserDays: counts.end_user_day,
    openHolds: live.open.length,
    findings,
    found,
    ...prepareRunNow(database)(readBeyondHold('activity INDEXED BY activity_beyond_hold')),
  }
}

const namesOf = (database: Database) =>
  database
    .query<{ id: AccountId; name: string }, []>('SELECT id, name FROM accounts ORDER BY id')
    .all()

const toBalance = (
  accountId: AccountId,
  accountName: string,
  row: SumRow | undefined,
): BalanceAudit => ({
  accountId,
  accountName,
  balance: row?.kept ?? NO_MONEY,
  ledgerSum: row?.ledger ?? NO_MONEY,
})
