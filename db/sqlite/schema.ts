/** The tables as Drizzle knows them, ledger and activity being in `../rows/tables.ts`; `migrations/` makes them, and a test holds the two together. */
import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Day } from '#domain/clock.ts'
import type { AccountId, ActId, EpochId, EventId, GenerationId, KeyId } from '#domain/id.ts'
import type { KeyKind } from '#domain/key.ts'
import type { Channel, NoticeState, NoticeType } from '#domain/notice.ts'
import type { Dialect } from '#domain/work.ts'
import { bool, instant, nanos } from '../rows/tables.ts'

export const accounts = sqliteTable('accounts', {
  id: text('id').$type<AccountId>().primaryKey(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull(),
  balance: nanos('balance_nanos').notNull(),
  memberDaily: nanos('member_daily_nanos'),
  limits: text('limits').notNull().default('{}'),
  closedAt: instant('closed_at'),
})

export const keys = sqliteTable('keys', {
  id: text('id').$type<KeyId>().primaryKey(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  name: text('name').notNull(),
  kind: text('kind').$type<KeyKind>().notNull(),
  label: text('label').notNull(),
  note: text('note'),
  limits: text('limits').notNull().default('{}'),
  createdAt: instant('created_at').notNull(),
  updatedAt: instant('updated_at').notNull(),
  lastUsedAt: instant('last_used_at'),
  expiresAt: instant('expires_at'),
  disabledAt: instant('disabled_at'),
  revokedAt: instant('revoked_at'),
  madeBy: text('made_by'),
})

export const keySecrets = sqliteTable('key_secrets', {
  sha256: blob('sha256', { mode: 'buffer' }).primaryKey(),
  keyId: text('key_id').$type<KeyId>().notNull(),
  label: text('label').notNull(),
  createdAt: instant('created_at').notNull(),
  expiresAt: instant('expires_at'),
})

/** One day of one key; a sum may lie in both tables, a part in each. */
const daySums = <Name extends string>(name: Name) =>
  sqliteTable(
    name,
    {
      keyId: text('key_id').$type<KeyId>().notNull(),
      day: integer('day').$type<Day>().notNull(),
      spent: nanos('spent_nanos').notNull(),
      requests: integer('requests').notNull(),
    },
    (table) => [primaryKey({ columns: [table.day, table.keyId] })],
  )

export const keyDays = daySums('key_days')

export const restingKeyDays = daySums('resting_key_days')

/** What an account was charged on a day beside what its keys have spent on it. */
export const movedDays = sqliteTable(
  'moved_days',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    day: integer('day').$type<Day>().notNull(),
    spent: nanos('spent_nanos').notNull(),
    requests: integer('requests').notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.accountId] })],
)

export const endUserDays = sqliteTable(
  'end_user_days',
  {
    keyId: text('key_id').$type<KeyId>().notNull(),
    day: integer('day').$type<Day>().notNull(),
    endUser: text('end_user').notNull(),
    spent: nanos('spent_nanos').notNull(),
    requests: integer('requests').notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.keyId, table.endUser] })],
)

export const holds = sqliteTable('holds', {
  generationId: text('generation_id').$type<GenerationId>().primaryKey(),
  requestId: text('request_id').notNull(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  keyId: text('key_id').$type<KeyId>().notNull(),
  model: text('model').notNull(),
  amount: nanos('amount_nanos').notNull(),
  admittedAt: instant('admitted_at').notNull(),
  endUser: text('end_user'),
  node: text('node').notNull(),
  epoch: text('epoch').$type<EpochId>().notNull(),
  day: integer('day').$type<Day>().notNull(),
  countedAs: text('counted_as'),
  idempotencyKey: text('idempotency_key'),
  bodySha256: text('body_sha256'),
  surface: text('surface').$type<Dialect>().notNull().default('chat'),
  session: text('session'),
})

export const windowSlots = sqliteTable(
  'window_slots',
  {
    keyId: text('key_id').$type<KeyId>().notNull(),
    admittedAt: instant('admitted_at').notNull(),
    generationId: text('generation_id').$type<GenerationId>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyId, table.admittedAt, table.generationId] })],
)

export const windowSlotsEnd = sqliteTable('window_slots_end', {
  one: integer('one').primaryKey(),
  below: text('below').notNull(),
})

export const keptSince = sqliteTable('kept_since', {
  log: text('log').primaryKey(),
  since: instant('since').notNull(),
})

export const steadyTime = sqliteTable('steady_time', {
  one: integer('one').primaryKey(),
  at: instant('at').notNull(),
})

export const acts = sqliteTable('acts', {
  id: text('id').$type<ActId>().primaryKey(),
  at: instant('at').notNull(),
  who: text('who').notNull(),
  verb: text('verb').notNull(),
  target: text('target'),
  changed: text('changed').notNull(),
})

export const answers = sqliteTable('answers', {
  id: integer('id').primaryKey(),
  keyId: text('key_id').$type<KeyId>().notNull(),
  idempotencyKey: text('idempotency_key').notNull(),
  bodySha256: text('body_sha256').notNull(),
  generationId: text('generation_id').$type<GenerationId>().notNull(),
  contentType: text('content_type').notNull(),
  bytes: integer('bytes').notNull(),
  createdAt: instant('created_at').notNull(),
  whole: bool('whole').notNull(),
})

export const answerPieces = sqliteTable(
  'answer_pieces',
  {
    answerId: integer('answer_id').notNull(),
    place: integer('place').notNull(),
    body: blob('body', { mode: 'buffer' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.answerId, table.place] })],
)

export const thresholds = sqliteTable('thresholds', {
  accountId: text('account_id').$type<AccountId>().primaryKey(),
  below: nanos('below_nanos'),
  email: text('email'),
  webhookUrl: text('webhook_url'),
  sealedWebhookSecret: text('sealed_webhook_secret'),
  notifiedAt: instant('notified_at'),
})

export const outbox = sqliteTable(
  'outbox',
  {
    eventId: text('event_id').$type<EventId>().notNull(),
    channel: text('channel').$type<Channel>().notNull(),
    accountId: text('account_id').$type<AccountId>(),
    type: text('type').$type<NoticeType>().notNull(),
    body: text('body').notNull(),
    createdAt: instant('created_at').notNull(),
    nextTryAt: instant('next_try_at'),
    tries: integer('tries').notNull(),
    leaseUntil: instant('lease_until'),
    state: text('state').$type<NoticeState>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.eventId, table.channel] })],
)

export const deliveryTries = sqliteTable(
  'delivery_tries',
  {
    eventId: text('event_id').$type<EventId>().notNull(),
    channel: text('channel').$type<Channel>().notNull(),
    number: integer('number').notNull(),
    at: instant('at').notNull(),
    status: integer('status'),
    failure: text('failure'),
    ms: integer('ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.eventId, table.channel, table.number] })],
)
