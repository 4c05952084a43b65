/** A line of the activity log as its row and as the domain's noun. */
import {
  type ActivityEntry,
  type FailedAttempt,
  failureCost,
  type LoggedRefusal,
  operatorCost,
} from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import type { ImageChoice } from '#domain/model-card.ts'
import { subtractUsd } from '#domain/money.ts'
import { NO_CALLS, type ServerCalls } from '#domain/usage.ts'
import { fromInteger } from './amount.ts'
import type { activity } from './tables.ts'

type ActivityRow = typeof activity.$inferSelect

export function toActivity(row: ActivityRow): ActivityEntry {
  const { admitted, admittedAt, failedAttempts, operatorCost, refusal, ...rest } = row
  const {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    imageInputTokens,
    outputTokens,
    reasoningTokens,
    imageOutputTokens,
    inputImages,
    outputImages,
    searchUnits,
    serverCalls,
    modifiers,
    cutTools,
    imageResolution,
    imageQuality,
    ...entry
  } = rest
  const failed = toFailedAttempts(failedAttempts)
  return {
    ...entry,
    queuedMs: admittedAt - row.startedAt,
    usage: {
      inputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      cacheWrite1hTokens,
      imageInputTokens,
      outputTokens,
      reasoningTokens,
      imageOutputTokens,
      inputImages,
      outputImages,
      searchUnits,
      serverCalls: toCalls(serverCalls),
    },
    modifiers: toNames(modifiers),
    cutTools: toNames(cutTools),
    image: toImage(imageResolution, imageQuality),
    failedAttempts: failed,
    unchargedCost: subtractUsd(operatorCost, failureCost(failed)),
    refusal: toRefusal(refusal),
  }
}

export const toNames = (stored: string | null): readonly string[] =>
  stored === null ? [] : (JSON.parse(stored) as string[])

/** Null where there are none, which is the rule. */
const fromNames = (names: readonly string[]): string | null =>
  names.length === 0 ? null : JSON.stringify(names)

export const toCalls = (stored: string | null): ServerCalls | null =>
  stored === null ? null : (JSON.parse(stored) as ServerCalls)

/** Null when none was called, which is the rule. */
const fromCalls = (calls: ServerCalls | null): string | null =>
  calls === null || calls === NO_CALLS ? null : JSON.stringify(calls)

export const toImage = (resolution: string | null, quality: string | null): ImageChoice | null =>
  resolution === null && quality === null
    ? null
    : { resolution: resolution ?? undefined, quality: quality ?? undefined }

/** Null when none failed, which is the rule. */
const fromFailedAttempts = (attempts: readonly FailedAttempt[]): string | null =>
  attempts.length === 0
    ? null
    : JSON.stringify(
        attempts.map((attempt) => ({ ...attempt, operatorCost: Number(attempt.operatorCost) })),
      )

type StoredAttempt = Omit<FailedAttempt, 'operatorCost'> & { readonly operatorCost: number }

export const toFailedAttempts = (stored: string | null): readonly FailedAttempt[] =>
  stored === null
    ? []
    : (JSON.parse(stored) as StoredAttempt[]).map((attempt) => ({
        ...attempt,
        operatorCost: fromInteger(attempt.operatorCost),
      }))

/** Null where nothing was refused, which is the rule. */
const fromRefusal = (refusal: LoggedRefusal | null): string | null =>
  refusal &&
  JSON.stringify({ ...refusal, hold: refusal.hold === null ? null : Number(refusal.hold) })

type StoredRefusal = Omit<LoggedRefusal, 'hold'> & { readonly hold: number | null }

function toRefusal(stored: string | null): LoggedRefusal | null {
  if (stored === null) return null
  const { hold, ...rest } = JSON.parse(stored) as StoredRefusal
  return { ...rest, hold: hold === null ? null : fromInteger(hold) }
}

/** In the order of `activityValues`. */
export const ACTIVITY_COLUMNS = [
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
  'search_units',
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
  'cache_write_1h_tokens',
  'server_calls',
  'modifiers',
  'surface',
  'session',
  'cut_tools',
  'credential',
  'node',
]

/** A line as the columns of its row; `admittedAt` is null for one that was refused. */
export function activityValues(
  entry: ActivityEntry,
  admittedAt: Instant | null,
): (string | number | null)[] {
  const { usage, failedAttempts } = entry
  return [
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
    usage.searchUnits,
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
    usage.cacheWrite1hTokens,
    fromCalls(usage.serverCalls),
    fromNames(entry.modifiers),
    entry.surface,
    entry.session,
    fromNames(entry.cutTools),
    entry.credential,
    entry.node,
  ]
}
