/** Fills a data directory as a month of use would: keys, log, ledger and day sums that agree, straight into the tables. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { DAY_MS, HOUR_MS, type Instant, systemClock } from '#domain/clock.ts'
import { generationsFrom, type KeyId, newKeyId } from '#domain/id.ts'
import { labelOf, newSecret, type Secret } from '#domain/secret.ts'

/** That share one instant. */
const ROWS_PER_MOMENT = 10
/** Prime, so that the keys come in an order that looks like chance, each as often as the others. */
const STRIDE = 7_919

/** What one request costs. */
const COST_NANOS = 73_500
const COST_RUB_MICROS = 6_615

export interface FilledKey {
  readonly id: KeyId
  readonly secret: Secret
}

export interface Filler {
  /** Keys of so many requests a day; their other limits are out of reach. */
  issue(count: number, rpd: number): readonly FilledKey[]
  /** So many requests of the last thirty days, by all of the keys in turn. */
  spend(keys: readonly FilledKey[], rows: number): void
  /** So many requests of one key, all of which its day window holds for another hour. */
  spendToday(key: FilledKey, rows: number): void
  /** Writes the ledger, the day sums and the balance, makes the indexes anew, and closes the file. */
  close(): void
}

/** Opens the database of a furnished directory that nobody serves. */
export function openFiller(dataDir: string): Filler {
  const database = new Database(join(dataDir, 'gateway.db'), { strict: true })
  for (const pragma of ['journal_mode = MEMORY', 'synchronous = OFF', 'cache_size = -1000000'])
    database.run(`PRAGMA ${pragma}`)
  const indexes = dropIndexes(database)
  const now = systemClock.now()
  const spend = prepareSpend(database)
  return {
    issue: prepareIssue(database, now),
    spend: (keys, rows) => spend(keys, rows, now - 30 * DAY_MS, now),
    spendToday: (key, rows) => spend([key], rows, now - 23 * HOUR_MS, now - HOUR_MS),
    close() {
      database.run(`INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd,
          price_version, day)
        SELECT 'led_' || substr(generation_id, 5), account_id, 'charge', -cost_nanos, admitted_at, key_id, generation_id,
          '90', (SELECT id FROM price_versions), admitted_at / ${DAY_MS}
        FROM activity`)
      for (const sql of indexes) database.run(sql)
      database.run(`INSERT INTO resting_key_days (key_id, day, spent_nanos, requests)
        SELECT key_id, admitted_at / ${DAY_MS}, count(*) * ${COST_NANOS}, count(*)
        FROM activity WHERE admitted = 1 GROUP BY 1, 2`)
      database.run(
        `INSERT INTO window_slots SELECT key_id, admitted_at, generation_id FROM activity ORDER BY 1, 2, 3`,
      )
      database.run(
        `UPDATE window_slots_end SET below = (SELECT coalesce(max(generation_id) || '~', '') FROM activity)`,
      )
      database.run(`UPDATE accounts SET balance_nanos =
        balance_nanos - (SELECT coalesce(sum(requests), 0) FROM resting_key_days) * ${COST_NANOS}`)
      database.run('PRAGMA journal_mode = WAL')
      database.close()
    },
  }
}

/** Sorted once at the end, they are made in a tenth of the time. */
function dropIndexes(database: Database): readonly string[] {
  const indexes = database
    .query<{ name: string; sql: string }, []>(
      `SELECT name, sql FROM sqlite_schema
       WHERE type = 'index' AND tbl_name IN ('activity', 'ledger') AND sql IS NOT NULL`,
    )
    .all()
  for (const { name } of indexes) database.run(`DROP INDEX ${name}`)
  return indexes.map(({ sql }) => sql)
}

function prepareIssue(database: Database, at: Instant): Filler['issue'] {
  const insertKey = database.prepare(
    `INSERT INTO keys (id, account_id, name, kind, label, limits, created_at, updated_at)
     SELECT ?1, id, 'filled', 'ordinary', ?2,
       json_object('rpm', 5000000, 'rpd', ?3, 'concurrency', 10000, 'dailySpend', 90000000000000), ?4, ?4
     FROM accounts`,
  )
  const insertSecret = database.prepare(
    'INSERT INTO key_secrets (sha256, key_id, label, created_at) VALUES (?, ?, ?, ?)',
  )
  const issueOne = (rpd: number): FilledKey => {
    const [id, secret] = [newKeyId(at), newSecret()]
    insertKey.run(id, labelOf(secret), rpd, at)
    insertSecret.run(
      Buffer.from(Bun.SHA256.hash(secret, 'base64'), 'base64'),
      id,
      labelOf(secret),
      at,
    )
    return { id, secret }
  }
  return database.transaction((count: number, rpd: number) =>
    Array.from({ length: count }, () => issueOne(rpd)),
  )
}

type Spend = (keys: readonly FilledKey[], rows: number, fromMs: number, toMs: number) => void

/** One statement writes all rows of a span: every instant of it times a few, each by the next key. */
function prepareSpend(database: Database): Spend {
  database.run('CREATE TEMP TABLE spenders (n INTEGER PRIMARY KEY, id TEXT)')
  database.run('CREATE TEMP TABLE moments (n INTEGER PRIMARY KEY, at INTEGER, time TEXT)')
  const addSpender = database.prepare('INSERT INTO spenders VALUES (?, ?)')
  const addMoment = database.prepare('INSERT INTO moments VALUES (?, ?, ?)')
  const places = Array.from({ length: ROWS_PER_MOMENT }, (_, n) => `(${n})`).join()
  let calls = 0
  return database.transaction((keys, rows, fromMs, toMs) => {
    database.run('DELETE FROM spenders')
    database.run('DELETE FROM moments')
    for (const [n, { id }] of keys.entries()) addSpender.run(n, id)
    for (let n = 0; n < rows / ROWS_PER_MOMENT; n++) {
      const at = Math.floor(fromMs + ((toMs - fromMs) * n * ROWS_PER_MOMENT) / rows) as Instant
      addMoment.run(n, at, generationsFrom(at))
    }
    // The random part of an id: no two calls share one.
    const first = ++calls * 1e12
    database.run(`INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, provider, stream,
        status, ended_by, finish_reason, started_at, admitted_at, first_event_ms, total_ms, input_tokens,
        cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, image_output_tokens, input_images,
        output_images, usage_source, cost_nanos, cost_rub_micros)
      SELECT time || printf('%016d', ${first} + row), 'req_' || row, accounts.id, spenders.id, 1, 'words/m', 'words', 0,
        200, 'completed', 'stop', at, at, 180, 420, 250,
        0, 0, 60, 0, 0, 0,
        0, 'provider', ${COST_NANOS}, ${COST_RUB_MICROS}
      FROM (SELECT at, time, n * ${ROWS_PER_MOMENT} + column1 AS row FROM moments CROSS JOIN (VALUES ${places}))
      CROSS JOIN spenders ON spenders.n = row * ${STRIDE} % ${keys.length}
      CROSS JOIN accounts`)
  })
}
