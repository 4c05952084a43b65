/**
 * The audit in PostgreSQL: every kept sum beside that of the ledger. Whatever is compared is read by one statement, which sees one
 * moment; no transaction spans several, because what they could not clear away would pile up.
 */
import {
  type Audit,
  type AuditFinding,
  type KeptSum,
  MAX_BEYOND_HOLD,
  MAX_FINDINGS,
} from '#domain/audit.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Database, Sql } from '../engine/database.ts'
import { ACCOUNT_DAYS } from './moved-days.ts'

interface SumRow {
  readonly what: KeptSum
  readonly subject: AccountId | KeyId
  readonly day: Day
  readonly end_user: string
  readonly kept: string
  readonly ledger: string
  readonly charges: number
  readonly requests: number
  /** Of the account of a balance. */
  readonly name: string | null
  readonly entries: number
  readonly key_days: number
  readonly end_user_days: number
}

/** Each sum once, as kept and as the ledger adds up to: balances, and what differs; each with the counts of all. */
const SUMS = `
  WITH kept AS (
    SELECT 'balance' AS what, account_id AS subject, 0::bigint AS day, '' AS end_user, balance_nanos AS kept, 0::bigint AS requests FROM account_state
    UNION ALL SELECT 'key_day', key_id, day, '', spent_nanos, requests FROM key_days
    UNION ALL SELECT 'end_user_day', key_id, day, end_user, spent_nanos, requests FROM end_user_days
    UNION ALL SELECT 'moved_day', account_id, day, '', spent_nanos, 0 FROM moved_days),
  added AS (
    SELECT 'balance' AS what, account_id AS subject, 0::bigint AS day, '' AS end_user, sum(amount_nanos) AS ledger, 0::bigint AS charges FROM ledger GROUP BY account_id
    UNION ALL SELECT 'moved_day', CASE sign WHEN 1 THEN l.account_id ELSE k.account_id END AS account_id, day, '', -sum(amount_nanos * sign), 0
      FROM ledger l JOIN keys k ON k.id = l.key_id AND k.account_id <> l.account_id CROSS JOIN (VALUES (1), (-1)) AS side (sign)
      WHERE l.kind = 'charge' GROUP BY 2, 3
    UNION ALL SELECT 'key_day', key_id, day, '', -sum(amount_nanos), count(*) FROM ledger WHERE kind = 'charge' GROUP BY key_id, day
    UNION ALL SELECT 'end_user_day', key_id, day, end_user, -sum(amount_nanos), count(*) FROM ledger
      WHERE kind = 'charge' AND end_user IS NOT NULL GROUP BY key_id, day, end_user),
  both_sums AS MATERIALIZED (
    SELECT what, subject, day, end_user, coalesce(kept, 0) AS kept, coalesce(ledger, 0) AS ledger, coalesce(charges, 0) AS charges, coalesce(requests, 0) AS requests
    FROM kept FULL JOIN added USING (what, subject, day, end_user))
  SELECT b.what, b.subject, b.day, b.end_user, b.kept::text, b.ledger::text, b.charges, b.requests, a.name, (SELECT count(*) FROM ledger) AS entries,
    (SELECT count(*) FROM both_sums WHERE what = 'key_day') AS key_days, (SELECT count(*) FROM both_sums WHERE what = 'end_user_day') AS end_user_days
  FROM both_sums b LEFT JOIN accounts a ON b.what = 'balance' AND a.id = b.subject
  WHERE b.what = 'balance' OR b.kept <> b.ledger OR b.charges > b.requests ORDER BY b.what, b.subject, b.day, b.end_user`

/** What requests change, beside what it is the sum of. */
const LIVE = `
  SELECT s.account_id AS subject, 'hold' AS engine, 'its holds do not add up to what is kept' AS what, s.held_nanos::text AS kept,
    coalesce(sum(h.amount_nanos), 0)::text AS ledger, NULL::bigint AS day
  FROM account_state s LEFT JOIN holds h ON h.account_id = s.account_id GROUP BY s.account_id
  HAVING s.held_nanos <> coalesce(sum(h.amount_nanos), 0) OR s.in_progress <> count(h.generation_id) FILTER (WHERE h.ended_at IS NULL)
  UNION ALL
  SELECT t.key_id, 'hold', 'its holds do not add up to what is kept', t.held_nanos::text, coalesce(sum(h.amount_nanos), 0)::text, NULL
  FROM key_state t LEFT JOIN holds h ON h.key_id = t.key_id GROUP BY t.key_id
  HAVING t.held_nanos <> coalesce(sum(h.amount_nanos), 0) OR t.in_progress <> count(h.generation_id) FILTER (WHERE h.ended_at IS NULL)
  UNION ALL
  SELECT t.key_id, 'live_key_day', 'what is kept as spent on its day is not what the ledger adds up to', t.spent_day::text, coalesce(d.spent_nanos, 0)::text, t.day
  FROM key_state t LEFT JOIN key_days d ON d.key_id = t.key_id AND d.day = t.day WHERE t.day >= 0 AND t.spent_day <> coalesce(d.spent_nanos, 0)
  UNION ALL
  SELECT t.key_id, 'live_key_month', 'what is kept as spent in its month is not what the ledger adds up to', t.spent_month::text, coalesce(sum(d.spent_nanos), 0)::text,
    month_of(t.day)
  FROM key_state t LEFT JOIN key_days d ON d.key_id = t.key_id AND d.day >= month_of(t.day) AND d.day < next_month(t.day)
  WHERE t.day >= 0 GROUP BY t.key_id HAVING t.spent_month <> coalesce(sum(d.spent_nanos), 0)
  UNION ALL
  SELECT s.account_id, 'live_account_day', 'what is kept as spent on its day is not what the ledger adds up to', s.spent_day::text,
    coalesce(sum(d.spent_nanos), 0)::text, s.day
  FROM account_state s LEFT JOIN (${ACCOUNT_DAYS}) d ON d.account_id = s.account_id AND d.day = s.day
  WHERE s.summed GROUP BY s.account_id HAVING s.spent_day <> coalesce(sum(d.spent_nanos), 0)`

interface LiveRow {
  readonly subject: AccountId | KeyId
  readonly engine: string
  readonly what: string
  readonly kept: string
  readonly ledger: string
  readonly day: Day | null
}

const usd = (nanos: string): UsdNanos => BigInt(nanos) as UsdNanos

/** @throws store_unavailable */
export async function audit(database: Database): Promise<Audit> {
  await database.flush()
  return await auditIn(database)
}

/** By what these statements see: each of one moment, or, in a transaction, all of its own. */
export async function auditIn(sql: Sql): Promise<Audit> {
  const sums = await sql.all<SumRow>(SUMS)
  const holds = await findHolds(sql)
  const findings = [...sums.flatMap(findingsOf), ...holds, ...(await findLive(sql))]
  const open = await sql.get<{ n: number }>(
    'SELECT count(*) AS n FROM holds WHERE ended_at IS NULL',
  )
  const [first] = sums
  return {
    entries: first?.entries ?? 0,
    keyDays: first?.key_days ?? 0,
    endUserDays: first?.end_user_days ?? 0,
    openHolds: open?.n ?? 0,
    balances: sums.flatMap(balanceOf),
    findings: findings.slice(0, MAX_FINDINGS),
    found: findings.length,
    ...(await beyondHold(sql)),
  }
}

function findingsOf(row: SumRow): readonly AuditFinding[] {
  const { what, subject, charges, requests } = row
  const [kept, ledger] = [usd(row.kept), usd(row.ledger)]
  const where = {
    day: what === 'balance' ? null : row.day,
    endUser: what === 'end_user_day' ? row.end_user : null,
  }
  return [
    ...(kept === ledger ? [] : [{ what, subject, ...where, kept, ledger }]),
    ...(charges <= requests
      ? []
      : [{ what: 'requests' as const, subject, ...where, requests, charges }]),
  ]
}

const balanceOf = ({ subject, name, kept, ledger }: SumRow): Audit['balances'] =>
  name === null
    ? []
    : [
        {
          accountId: subject as AccountId,
          accountName: name,
          balance: usd(kept),
          ledgerSum: usd(ledger),
        },
      ]

async function findHolds(tx: Sql): Promise<readonly AuditFinding[]> {
  const rows = await tx.all<{ id: GenerationId }>(
    `SELECT h.generation_id AS id FROM holds h JOIN ledger l ON l.id = 'led_' || substr(h.generation_id, 5)`,
  )
  return rows.map(({ id: subject }) => ({ what: 'hold', subject }))
}

async function findLive(tx: Sql): Promise<readonly AuditFinding[]> {
  const rows = await tx.all<LiveRow>(LIVE)
  return rows.map(({ subject, engine, what, day, ...row }) => {
    const sum = { day, kept: usd(row.kept), ledger: usd(row.ledger) }
    const message = `${what}: $${renderUsd(sum.kept)}, and $${renderUsd(sum.ledger)}`
    return { what: 'engine', engine, subject, message, sum }
  })
}

async function beyondHold(tx: Sql): Promise<Pick<Audit, 'beyondHold' | 'latestBeyondHold'>> {
  const from = 'FROM activity WHERE cost_nanos > hold_nanos'
  const counted = await tx.get<{ n: number }>(`SELECT count(*) AS n ${from}`)
  const rows = await tx.all<{ id: GenerationId; cost: string; hold: string }>(
    `SELECT generation_id AS id, cost_nanos::text AS cost, hold_nanos::text AS hold ${from} ORDER BY started_at DESC LIMIT ?`,
    MAX_BEYOND_HOLD,
  )
  return {
    beyondHold: counted?.n ?? 0,
    latestBeyondHold: rows.map(({ id, cost, hold }) => ({
      generationId: id,
      cost: usd(cost),
      hold: usd(hold),
    })),
  }
}
