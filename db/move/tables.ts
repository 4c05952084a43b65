/** What is moved between SQLite and PostgreSQL, table by table, and what differs between their schemas. */
import { DAY_MS } from '#domain/clock.ts'

/** A table of the target. */
export interface MovedTable {
  readonly table: string
  /** What is read in the source: of its columns those are moved that the target has, by their names. */
  readonly from: string
  /** How many rows are in memory at once. */
  readonly rows: number
}

/** In both under one name, in an order in which rows refer to earlier ones only. */
export const SHARED = [
  ...['accounts', 'keys', 'key_secrets', 'key_days', 'moved_days', 'end_user_days'],
  'thresholds',
  ...['ledger', 'acts', 'activity', 'kept_since', 'steady_time', 'answers', 'answer_pieces'],
  ...['catalogue_version', 'providers', 'credentials', 'models', 'price_versions', 'aliases'],
  ...['routes', 'hops', 'rates', 'outbox', 'delivery_tries', 'events', 'notice_settings'],
  ...[
    'people',
    'memberships',
    'invitations',
    'person_groups',
    'clients',
    'logouts',
    'revocations',
    'artifacts',
  ],
  ...['mail_codes', 'mail_code_counts', 'code_mails', 'signing_keys', 'signin_secrets'],
  ...['identity_providers', 'identities', 'detours', 'signin_events'],
  ...['passkeys', 'passkey_challenges'],
]

/** Shared, and with rows in a new database already. */
export const MADE_WITH_ROWS: readonly string[] = ['catalogue_version']

/** Not moved as they are, and why. */
export const NOT_MOVED: Readonly<Record<string, string>> = {
  holds: 'in both: what an ended process held is void before anything is moved',
  // SQLite alone.
  resting_key_days: 'added up with key_days',
  window_slots: 'an index of the log, which is filled again when a window is read',
  window_slots_end: 'where that index ends: at its beginning',
  // PostgreSQL alone.
  account_state: 'balances are in accounts; what is counted is found again',
  key_state: 'last uses are in keys; what is counted is found again',
  slots: 'found again from the log',
  nodes: 'all of them have ended',
  ended_epochs: 'those of nodes',
  given_up: 'claims of nodes',
  passed_marks: 'told before anything is moved',
  sealed_word: 'sealed again, by the same master key',
  schema_version: 'of the target itself',
  moved: 'of the source itself',
}

/** Columns of shared tables that one of them lacks. The generated ones of PostgreSQL are made of others. */
export const ONLY_SQLITE: Readonly<Record<string, readonly string[]>> = {
  accounts: ['balance_nanos'],
}
export const ONLY_POSTGRES: Readonly<Record<string, readonly string[]>> = {
  end_user_days: ['mark'],
  outbox: ['leased_by'],
}

/** What the master key has sealed. */
export const SEALED: readonly (readonly [table: string, column: string])[] = [
  ['credentials', 'sealed'],
  ['thresholds', 'sealed_webhook_secret'],
  ['notice_settings', 'sealed_webhook_secret'],
  ['code_mails', 'sealed'],
  ['signing_keys', 'sealed_jwk'],
  ['signin_secrets', 'sealed'],
  ['identity_providers', 'sealed_secret'],
]

const ROWS = 1_000
/** A quarter of a megabyte each. */
const ROWS_OF_PIECES = 16

const moved = (table: string, from = `SELECT * FROM ${table}`): MovedTable => ({
  table,
  from,
  rows: table === 'answer_pieces' ? ROWS_OF_PIECES : ROWS,
})

/** An index of PostgreSQL reads the body as JSON, in which it has no NUL either. */
const EVENTS = `
  SELECT id, cause, subject, severity, replace(body, '\\u0000', '\\ufffd') AS body, raised_at, lifted_at, seen_at, held_until, sent_as FROM events`

const KEY_DAYS_OF_BOTH = `
  SELECT key_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT * FROM key_days UNION ALL SELECT * FROM resting_key_days) GROUP BY day, key_id`

const FROM_SQLITE: Readonly<Record<string, string>> = { key_days: KEY_DAYS_OF_BOTH, events: EVENTS }

export const TO_POSTGRES: readonly MovedTable[] = [
  ...SHARED.map((table) => moved(table, FROM_SQLITE[table])),
  moved('account_state', 'SELECT id AS account_id, balance_nanos FROM accounts'),
  moved('key_state', 'SELECT id AS key_id, last_used_at FROM keys'),
]

const FROM_STATE: Readonly<Record<string, string>> = {
  accounts:
    'SELECT a.*, s.balance_nanos FROM accounts a JOIN account_state s ON s.account_id = a.id',
  keys: 'SELECT k.*, s.last_used_at FROM keys k JOIN key_state s ON s.key_id = k.id',
}

export const TO_SQLITE: readonly MovedTable[] = SHARED.map((table) =>
  moved(table, FROM_STATE[table]),
)

/** Windows look back for a day, and a second one is left for clocks that were set. */
const SLOTS_MS = 2 * DAY_MS

/**
 * What PostgreSQL keeps beside: a slot for each request of the log that a window may hold, numbered by key and by account, and
 * the places at which both stand. `?` is the time of the move.
 */
export const SLOTS = `
  INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth, end_user, counted_as)
  SELECT a.generation_id, a.key_id, a.account_id, a.admitted_at, a.admitted_at,
    row_number() OVER (PARTITION BY a.key_id ORDER BY a.admitted_at, a.generation_id),
    row_number() OVER (PARTITION BY a.account_id ORDER BY a.admitted_at, a.generation_id),
    a.end_user, coalesce(l.end_user, a.end_user)
  FROM activity a LEFT JOIN ledger l ON l.id = 'led_' || substr(a.generation_id, 5)
  WHERE a.admitted AND a.admitted_at > ? - ${SLOTS_MS}`

export const PLACES = [
  `UPDATE account_state s SET pos = g.pos, newest_at = g.pos, taken = g.taken
   FROM (SELECT account_id, max(pos) AS pos, count(*) AS taken FROM slots GROUP BY account_id) g WHERE s.account_id = g.account_id`,
  `UPDATE key_state s SET taken = g.taken
   FROM (SELECT key_id, count(*) AS taken FROM slots GROUP BY key_id) g WHERE s.key_id = g.key_id`,
  // Numbers that are given out go on behind those that came along.
  "SELECT setval(pg_get_serial_sequence('answers', 'id'), max(id)) FROM answers HAVING max(id) IS NOT NULL",
  "SELECT setval(pg_get_serial_sequence('mail_code_counts', 'n'), max(n)) FROM mail_code_counts HAVING max(n) IS NOT NULL",
]
