/**
 * The audit in PostgreSQL: every kept sum beside that of the ledger, while requests go on. What is kept is copied at one moment, the cut;
 * then the ledger, which only grows, is added up a slice at a time, without what was committed after the cut. No statement takes
 * long, and no transaction spans several: what they could not clear away would pile up.
 */
import { type Audit, type AuditFinding, MAX_FINDINGS } from '#domain/audit.ts'
import { DAY_MS, type Day, type Instant, later } from '#domain/clock.ts'
import { type AccountId, entriesFrom, type GenerationId, type KeyId } from '#domain/id.ts'
import { dollars, renderUsd, type UsdNanos } from '#domain/money.ts'
import { judgeSum, readBeyondHold, type SumRow } from '../../money/audit.ts'
import type { Database, Sql } from '../engine/database.ts'
import { send } from '../engine/engine.ts'
import { ACCOUNT_DAYS } from './moved-days.ts'

interface FoundSum extends Omit<SumRow, 'endUser' | 'kept' | 'ledger'> {
  readonly end_user: string
  readonly kept: string
  readonly ledger: string
  /** Of the account of a balance. */
  readonly name: string | null
}

/** Each sum as it is kept, and beside them the account of each key, and the transactions that the cut knows of. */
const CUT = `
  CREATE TEMPORARY TABLE audit_sums AS
  SELECT what, subject COLLATE "C" AS subject, day, end_user COLLATE "C" AS end_user, kept, requests, 0::numeric AS ledger, 0::bigint AS charges FROM (
    SELECT 'balance' AS what, account_id AS subject, 0::bigint AS day, '' AS end_user, balance_nanos AS kept, 0::bigint AS requests FROM account_state
    UNION ALL SELECT 'key_day', key_id, day, '', spent_nanos, requests FROM key_days
    UNION ALL SELECT 'end_user_day', key_id, day, end_user, spent_nanos, requests FROM end_user_days
    UNION ALL SELECT 'moved_day', account_id, day, '', spent_nanos, 0 FROM moved_days
    UNION ALL SELECT 'key', id, 0, account_id, 0, 0 FROM keys
    UNION ALL SELECT 'cut', pg_current_snapshot()::text, 0, '', 0, 0) kept`

const BY_SUBJECT = 'CREATE UNIQUE INDEX ON audit_sums (what, subject, day, end_user)'

/**
 * Whether the cut knows of it: what has written a row tells, in 32 bits, and so only of one that is not years old. A row is never
 * changed, and no part of a transaction writes one.
 */
const IS_BEFORE = `($cut::text IS NULL OR l.id < $recent OR pg_visible_in_snapshot(
  (pg_snapshot_xmax($cut::pg_snapshot)::text::bigint - 2147483648
    + ((l.xmin::text::bigint - pg_snapshot_xmax($cut::pg_snapshot)::text::bigint % 4294967296 + 6442450944) % 4294967296))::text::xid8, $cut::pg_snapshot))`

/** Adds up a slice of the ledger. */
const ADD = `
  WITH part AS MATERIALIZED (SELECT l.* FROM ledger l WHERE l.id > $after AND l.id <= $last AND ${IS_BEFORE}),
  added AS (
    SELECT 'balance' AS what, account_id AS subject, 0::bigint AS day, '' AS end_user, sum(amount_nanos) AS ledger, 0::bigint AS charges FROM part GROUP BY account_id
    UNION ALL SELECT 'moved_day', CASE sign WHEN 1 THEN l.account_id ELSE k.end_user END AS account_id, l.day, '', -sum(amount_nanos * sign), 0
      FROM part l JOIN audit_sums k ON k.what = 'key' AND k.subject = l.key_id AND k.day = 0 AND k.end_user <> l.account_id CROSS JOIN (VALUES (1), (-1)) AS side (sign)
      WHERE l.kind = 'charge' GROUP BY 2, 3
    UNION ALL SELECT 'key_day', key_id, day, '', -sum(amount_nanos), count(*) FROM part WHERE kind = 'charge' GROUP BY key_id, day
    UNION ALL SELECT 'end_user_day', key_id, day, end_user, -sum(amount_nanos), count(*) FROM part
      WHERE kind = 'charge' AND end_user IS NOT NULL GROUP BY key_id, day, end_user
    UNION ALL SELECT 'entries', '', 0, '', 0, count(*) FROM part)
  INSERT INTO audit_sums AS a (what, subject, day, end_user, kept, requests, ledger, charges)
  SELECT what, subject, day, end_user, 0, 0, ledger, charges FROM added
  ON CONFLICT (what, subject, day, end_user) DO UPDATE SET ledger = a.ledger + excluded.ledger, charges = a.charges + excluded.charges`

/** Balances, and what differs. */
const SUMS = `
  SELECT b.what, b.subject, b.day, b.end_user, b.kept::text, b.ledger::text, b.charges, b.requests, a.name
  FROM audit_sums b LEFT JOIN accounts a ON b.what = 'balance' AND a.id = b.subject
  WHERE b.what = 'balance' OR b.what IN ('key_day', 'end_user_day', 'moved_day') AND (b.kept <> b.ledger OR b.charges > b.requests)
  ORDER BY b.what, b.subject, b.day, b.end_user`

const COUNTS = `
  SELECT coalesce(sum(charges) FILTER (WHERE what = 'entries'), 0)::bigint AS entries, count(*) FILTER (WHERE what = 'key_day') AS "keyDays",
    count(*) FILTER (WHERE what = 'end_user_day') AS "endUserDays" FROM audit_sums`

/** What requests change of so many accounts and keys, beside what it is the sum of. */
const LIVE = `
  SELECT s.account_id AS subject, 'hold' AS engine, 'its holds do not add up to what is kept' AS what, s.held_nanos::text AS kept,
    coalesce(sum(h.amount_nanos), 0)::text AS ledger, NULL::bigint AS day
  FROM account_state s LEFT JOIN holds h ON h.account_id = s.account_id WHERE s.account_id > $after AND s.account_id <= $last GROUP BY s.account_id
  HAVING s.held_nanos <> coalesce(sum(h.amount_nanos), 0) OR s.in_progress <> count(h.generation_id) FILTER (WHERE h.ended_at IS NULL)
    OR s.summed AND (s.held_day, s.held_month) <> (coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = s.day), 0),
      coalesce(sum(h.amount_nanos) FILTER (WHERE same_month(h.day, s.day)), 0))
  UNION ALL
  SELECT t.key_id, 'hold', 'its holds do not add up to what is kept', t.held_nanos::text, coalesce(sum(h.amount_nanos), 0)::text, NULL
  FROM key_state t LEFT JOIN holds h ON h.key_id = t.key_id WHERE t.key_id > $after AND t.key_id <= $last GROUP BY t.key_id
  HAVING t.held_nanos <> coalesce(sum(h.amount_nanos), 0) OR t.in_progress <> count(h.generation_id) FILTER (WHERE h.ended_at IS NULL)
    OR t.day >= 0 AND (t.held_day, t.held_month) <> (coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = t.day), 0),
      coalesce(sum(h.amount_nanos) FILTER (WHERE same_month(h.day, t.day)), 0))
  UNION ALL
  SELECT t.key_id, 'live_key_day', 'what is kept as spent on its day is not what the ledger adds up to', t.spent_day::text, coalesce(d.spent_nanos, 0)::text, t.day
  FROM key_state t LEFT JOIN key_days d ON d.key_id = t.key_id AND d.day = t.day
  WHERE t.key_id > $after AND t.key_id <= $last AND t.day >= 0 AND t.spent_day <> coalesce(d.spent_nanos, 0)
  UNION ALL
  SELECT t.key_id, 'live_key_month', 'what is kept as spent in its month is not what the ledger adds up to', t.spent_month::text, coalesce(sum(d.spent_nanos), 0)::text,
    month_of(t.day)
  FROM key_state t LEFT JOIN key_days d ON d.key_id = t.key_id AND d.day >= month_of(t.day) AND d.day < next_month(t.day)
  WHERE t.key_id > $after AND t.key_id <= $last AND t.day >= 0 GROUP BY t.key_id HAVING t.spent_month <> coalesce(sum(d.spent_nanos), 0)
  UNION ALL
  SELECT s.account_id, 'live_account_day', 'what is kept as spent on its day is not what the ledger adds up to', s.spent_day::text,
    coalesce(d.spent, 0)::text, s.day
  FROM account_state s CROSS JOIN LATERAL (SELECT sum(d.spent_nanos) AS spent FROM (${ACCOUNT_DAYS}) d WHERE d.account_id = s.account_id AND d.day = s.day) d
  WHERE s.account_id > $after AND s.account_id <= $last AND s.summed AND s.spent_day <> coalesce(d.spent, 0)
  UNION ALL
  SELECT s.account_id, 'live_account_month', 'what is kept as spent in its month is not what the ledger adds up to', s.spent_month::text,
    coalesce(d.spent, 0)::text, month_of(s.day)
  FROM account_state s CROSS JOIN LATERAL (SELECT sum(d.spent_nanos) AS spent FROM (${ACCOUNT_DAYS}) d
    WHERE d.account_id = s.account_id AND d.day >= month_of(s.day) AND d.day < next_month(s.day)) d
  WHERE s.account_id > $after AND s.account_id <= $last AND s.summed AND s.spent_month <> coalesce(d.spent, 0)`

interface LiveRow {
  readonly subject: AccountId | KeyId
  readonly engine: string
  readonly what: string
  readonly kept: string
  readonly ledger: string
  readonly day: Day | null
}

const usd = (nanos: string): UsdNanos => BigInt(nanos) as UsdNanos

/** Read at once: a tenth of a second each. */
const SLICE_ENTRIES = 20_000
const SLICE_SUBJECTS = 1_000

/** @throws store_unavailable */
export async function audit(database: Database, entries: number = SLICE_ENTRIES): Promise<Audit> {
  await database.flush()
  return await database.session(async (sql) => {
    // Nothing of it lasts, so that it waits for no standby: it tells of a database without one too.
    await sql.run('SET synchronous_commit = off')
    try {
      return await auditIn(sql, { at: database.clock.now(), entries })
    } finally {
      await sql.run('RESET synchronous_commit')
    }
  })
}

interface Slices {
  readonly at: Instant
  readonly entries: number
}

/** On one connection; in a transaction, which nothing else writes beside, without `slices`: by all that it sees. */
export async function auditIn(sql: Sql, slices: Slices | null = null): Promise<Audit> {
  await sql.run('DROP TABLE IF EXISTS pg_temp.audit_sums')
  await sql.run(CUT)
  await sql.run(BY_SUBJECT)
  const cut =
    slices &&
    (await sql.get<{ text: string }>(`SELECT subject AS text FROM audit_sums WHERE what = 'cut'`))
  const known = {
    cut: cut?.text ?? null,
    // Nothing is charged so late.
    recent: entriesFrom(later(slices?.at ?? (0 as Instant), -7 * DAY_MS)),
  }
  for await (const slice of slicesOf(
    sql,
    'SELECT id FROM ledger',
    slices?.entries ?? SLICE_ENTRIES,
  )) {
    await sql.run(ADD, { ...slice, ...known })
  }
  const sums = await sql.all<FoundSum>(SUMS)
  const counts = await sql.get<Pick<Audit, 'entries' | 'keyDays' | 'endUserDays'>>(COUNTS)
  await sql.run('DROP TABLE audit_sums')
  const holds = await findHolds(sql)
  const findings = [...sums.map(toSum).flatMap(judgeSum), ...holds, ...(await findLive(sql))]
  const open = await sql.get<{ n: number }>(
    'SELECT count(*) AS n FROM holds WHERE ended_at IS NULL',
  )
  return {
    ...(counts ?? { entries: 0, keyDays: 0, endUserDays: 0 }),
    openHolds: open?.n ?? 0,
    balances: sums.flatMap(balanceOf),
    findings: findings.slice(0, MAX_FINDINGS),
    found: findings.length,
    ...(await send(sql, readBeyondHold('activity'))),
  }
}

interface Slice extends Record<string, string> {
  readonly after: string
  readonly last: string
}

/** All ids, so many at a time. */
async function* slicesOf(sql: Sql, ids: string, most: number): AsyncGenerator<Slice, void> {
  let after = ''
  for (;;) {
    const last: { id: string } | null = await sql.get(
      `SELECT id FROM (SELECT id FROM (${ids}) ids WHERE id > $after ORDER BY id LIMIT $most) slice ORDER BY id DESC LIMIT 1`,
      { after, most },
    )
    if (last === null) return
    yield { after, last: last.id }
    after = last.id
  }
}

const toSum = ({ end_user: endUser, kept, ledger, ...row }: FoundSum): SumRow => ({
  ...row,
  endUser,
  kept: usd(kept),
  ledger: usd(ledger),
})

const balanceOf = ({ subject, name, kept, ledger }: FoundSum): Audit['balances'] =>
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
  const ids = 'SELECT account_id AS id FROM account_state UNION ALL SELECT key_id FROM key_state'
  const rows: LiveRow[] = []
  for await (const slice of slicesOf(tx, ids, SLICE_SUBJECTS)) {
    rows.push(...(await tx.all<LiveRow>(LIVE, slice)))
  }
  return rows.map(({ subject, engine, what, day, ...row }) => {
    const sum = { day, kept: usd(row.kept), ledger: usd(row.ledger) }
    const message = `${what}: ${dollars(renderUsd(sum.kept))}, and ${dollars(renderUsd(sum.ledger))}`
    return { what: 'engine', engine, subject, message, sum }
  })
}
