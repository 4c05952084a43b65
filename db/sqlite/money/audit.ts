/** The audit in SQLite: compares the ledger with the stored sums, in one snapshot. */
import type { Database } from 'bun:sqlite'
import { type Audit, type AuditFinding, MAX_BEYOND_HOLD, MAX_FINDINGS } from '#domain/audit.ts'
import type { AccountId, GenerationId } from '#domain/id.ts'
import type { BalanceAudit } from '#domain/ledger.ts'
import { NO_MONEY } from '#domain/money.ts'
import { fromInteger } from '../../rows/amount.ts'
import type { HotState, LiveSums } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { openSnapshot } from '../engine/reading.ts'
import { auditHolds, auditLive } from './audit-live.ts'
import { addUp, type SumRow } from './audit-sums.ts'

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
  for await (const rows of sums.walk()) found += rows.flatMap(judge).length
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
      note(judge(row))
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
    ...readBeyondHold(database),
  }
}

interface BeyondHoldRow {
  readonly generation_id: GenerationId
  readonly cost_nanos: number
  readonly hold_nanos: number
}

function readBeyondHold(database: Database): Pick<Audit, 'beyondHold' | 'latestBeyondHold'> {
  const from = 'FROM activity INDEXED BY activity_beyond_hold WHERE cost_nanos > hold_nanos'
  const beyondHold = database.query<{ n: number }, []>(`SELECT count(*) AS n ${from}`).get()?.n ?? 0
  const latest = database.query<BeyondHoldRow, [number]>(
    `SELECT generation_id, cost_nanos, hold_nanos ${from} ORDER BY started_at DESC LIMIT ?`,
  )
  return {
    beyondHold,
    latestBeyondHold: latest.all(MAX_BEYOND_HOLD).map((row) => ({
      generationId: row.generation_id,
      cost: fromInteger(row.cost_nanos),
      hold: fromInteger(row.hold_nanos),
    })),
  }
}

function judge(row: SumRow): readonly AuditFinding[] {
  const { what, subject, kept, ledger, charges, requests } = row
  const where = {
    day: what === 'balance' ? null : row.day,
    endUser: what === 'end_user_day' ? row.endUser : null,
  }
  return [
    ...(kept === ledger ? [] : [{ what, subject, ...where, kept, ledger }]),
    ...(charges <= requests
      ? []
      : [{ what: 'requests' as const, subject, ...where, requests, charges }]),
  ]
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
