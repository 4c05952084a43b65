/** The tables that both engines read by Drizzle. */
import { customType, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { EndedBy } from '#domain/activity.ts'
import type { Day, Instant } from '#domain/clock.ts'
import type { AccountId, EntryId, GenerationId, KeyId, PriceVersionId } from '#domain/id.ts'
import type { EntryKind, UsageSource } from '#domain/ledger.ts'
import type { RubMicros, UsdNanos } from '#domain/money.ts'
import type { Dialect } from '#domain/work.ts'
import { fromInteger, toInteger } from './amount.ts'

export const nanos = customType<{ data: UsdNanos; driverData: number }>({
  dataType: () => 'integer',
  toDriver: toInteger,
  fromDriver: fromInteger<UsdNanos>,
})

const rubMicros = customType<{ data: RubMicros; driverData: number }>({
  dataType: () => 'integer',
  toDriver: toInteger,
  fromDriver: fromInteger<RubMicros>,
})

export const bool = (name: string) => integer(name, { mode: 'boolean' })

export const instant = (name: string) => integer(name).$type<Instant>()

export const ledger = sqliteTable('ledger', {
  id: text('id').$type<EntryId>().primaryKey(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  kind: text('kind').$type<EntryKind>().notNull(),
  amount: nanos('amount_nanos').notNull(),
  at: instant('at').notNull(),
  keyId: text('key_id').$type<KeyId>(),
  generationId: text('generation_id').$type<GenerationId>(),
  day: integer('day').$type<Day>(),
  endUser: text('end_user'),
  rubPerUsd: text('rub_per_usd').notNull(),
  priceVersion: text('price_version').$type<PriceVersionId>(),
  note: text('note'),
  ref: text('ref'),
})

export const activity = sqliteTable('activity', {
  generationId: text('generation_id').$type<GenerationId>().primaryKey(),
  requestId: text('request_id').notNull(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  keyId: text('key_id').$type<KeyId>().notNull(),
  admitted: bool('admitted').notNull(),
  model: text('model').notNull(),
  provider: text('provider'),
  endUser: text('end_user'),
  stream: bool('stream').notNull(),
  status: integer('status').notNull(),
  code: text('code'),
  endedBy: text('ended_by').$type<EndedBy>().notNull(),
  finishReason: text('finish_reason'),
  startedAt: instant('started_at').notNull(),
  admittedAt: instant('admitted_at').notNull(),
  firstEventMs: integer('first_event_ms'),
  totalMs: integer('total_ms').notNull(),
  inputTokens: integer('input_tokens').notNull(),
  cacheReadTokens: integer('cache_read_tokens').notNull(),
  cacheWriteTokens: integer('cache_write_tokens').notNull(),
  imageInputTokens: integer('image_input_tokens').notNull().default(0),
  outputTokens: integer('output_tokens').notNull(),
  reasoningTokens: integer('reasoning_tokens').notNull(),
  imageOutputTokens: integer('image_output_tokens').notNull(),
  inputImages: integer('input_images').notNull(),
  outputImages: integer('output_images').notNull(),
  searchUnits: integer('search_units').notNull(),
  usageSource: text('usage_source').$type<UsageSource>(),
  cost: nanos('cost_nanos').notNull(),
  costRub: rubMicros('cost_rub_micros').notNull(),
  failedAttempts: text('failed_attempts'),
  operatorCost: nanos('operator_cost_nanos')
    .notNull()
    .default(0n as UsdNanos),
  statedCost: nanos('stated_cost_nanos'),
  imageResolution: text('image_resolution'),
  imageQuality: text('image_quality'),
  refusal: text('refusal'),
  hold: nanos('hold_nanos'),
  loweredBound: integer('lowered_bound'),
  cacheWrite1hTokens: integer('cache_write_1h_tokens').notNull().default(0),
  serverCalls: text('server_calls'),
  modifiers: text('modifiers'),
  surface: text('surface').$type<Dialect>().notNull().default('chat'),
  session: text('session'),
  cutTools: text('cut_tools'),
  credential: text('credential'),
  node: text('node'),
})
