/** Writes activity entries with one prepared statement, because every request has one. */
import type { Database, SQLQueryBindings } from 'bun:sqlite'
import { type ActivityEntry, operatorCost } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import { statement } from '../engine/statement.ts'
import { fromFailedAttempts, fromRefusal } from './activity-row.ts'

/** Bound in this order. */
const COLUMNS = [
  'generation_id',
  'request_id',
  'account_id',
  'key_id',
  'admitted',
  'model',
  'provider',
  'end_user',
  'stream',
  'status',
  'code',
  'ended_by',
  'finish_reason',
  'started_at',
  'admitted_at',
  'first_event_ms',
  'total_ms',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'image_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'image_output_tokens',
  'input_images',
  'output_images',
  'usage_source',
  'cost_nanos',
  'cost_rub_micros',
  'failed_attempts',
  'operator_cost_nanos',
  'stated_cost_nanos',
  'image_resolution',
  'image_quality',
  'refusal',
  'hold_nanos',
  'lowered_bound',
]

/** Returns false for a second entry of the same generation, which is not written. */
export function prepareActivity(
  database: Database,
): (entry: ActivityEntry, admittedAt: Instant | null) => boolean {
  const insert = statement<unknown, SQLQueryBindings[]>(
    database,
    `INSERT INTO activity (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (generation_id) DO NOTHING`,
  )
  return (entry, admittedAt) => {
    const { usage, failedAttempts } = entry
    const { changes } = insert().run(
      entry.generationId,
      entry.requestId,
      entry.accountId,
      entry.keyId,
      admittedAt === null ? 0 : 1,
      entry.model,
      entry.provider,
      entry.endUser,
      entry.stream ? 1 : 0,
      entry.status,
      entry.code,
      entry.endedBy,
      entry.finishReason,
      entry.startedAt,
      admittedAt ?? entry.startedAt + entry.queuedMs,
      entry.firstEventMs,
      entry.totalMs,
      usage.inputTokens,
      usage.cacheReadTokens,
      usage.cacheWriteTokens,
      usage.imageInputTokens,
      usage.outputTokens,
      usage.reasoningTokens,
      usage.imageOutputTokens,
      usage.inputImages,
      usage.outputImages,
      entry.usageSource,
      Number(entry.cost),
      Number(entry.costRub),
      fromFailedAttempts(failedAttempts),
      Number(operatorCost(entry)),
      entry.statedCost === null ? null : Number(entry.statedCost),
      entry.image?.resolution ?? null,
      entry.image?.quality ?? null,
      fromRefusal(entry.refusal),
      entry.hold === null ? null : Number(entry.hold),
      entry.loweredBound,
    )
    return changes > 0
  }
}
