/** The tables whose filters an operator chooses, as Drizzle knows them; `migrations/` makes them. */
import { bigint, boolean, customType, pgTable, text } from 'drizzle-orm/pg-core'
import type { EndedBy } from '#domain/activity.ts'
import type { Day, Instant } from '#domain/clock.ts'
import type { AccountId, EntryId, GenerationId, KeyId, PriceVersionId } from '#domain/id.ts'
import type { EntryKind, UsageSource } from '#domain/ledger.ts'
import type { RubMicros, UsdNanos } from '#domain/money.ts'
import type { Dialect } from '#domain/work.ts'

const nanos = customType<{ data: UsdNanos; driverData: bigint }>({
  dataType: () => 'bigint',
  fromDriver: (stored) => BigInt(stored) as UsdNanos,
})
const rubMicros = customType<{ data: RubMicros; driverData: bigint }>({
  dataType: () => 'bigint',
  fromDriver: (stored) => BigInt(stored) as RubMicros,
})
const integer = (name: string) => bigint(name, { mode: 'number' })
const instant = (name: string) => integer(name).$type<Instant>()

export const ledger = pgTable('ledger', {
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

export const activity = pgTable('activity', {
  generationId: text('generation_id').$type<GenerationId>().primaryKey(),
  requestId: text('request_id').notNull(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  keyId: text('key_id').$type<KeyId>().notNull(),
  admitted: boolean('admitted').notNull(),
  model: text('model').notNull(),
  provider: text('provider'),
  endUser: text('end_user'),
  stream: boolean('stream').notNull(),
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
  imageInputTokens: integer('image_input_tokens').notNull(),
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
  operatorCost: nanos('operator_cost_nanos').notNull(),
  statedCost: nanos('stated_cost_nanos'),
  imageResolution: text('image_resolution'),
  imageQuality: text('image_quality'),
  refusal: text('refusal'),
  hold: nanos('hold_nanos'),
  loweredBound: integer('lowered_bound'),
  cacheWrite1hTokens: integer('cache_write_1h_tokens').notNull(),
  serverCalls: text('server_calls'),
  modifiers: text('modifiers'),
  surface: text('surface').$type<Dialect>().notNull(),
  session: text('session'),
  cutTools: text('cut_tools'),
  credential: text('credential'),
})
