/** A line of the activity log as its row and as the domain's noun. */
import {
  type ActivityEntry,
  type FailedAttempt,
  failureCost,
  type LoggedRefusal,
} from '#domain/activity.ts'
import { subtractUsd } from '#domain/money.ts'
import { fromInteger } from '../money/amount.ts'
import type { activity } from '../schema.ts'

type ActivityRow = typeof activity.$inferSelect

export function toActivity(row: ActivityRow): ActivityEntry {
  const { admitted, admittedAt, failedAttempts, operatorCost, refusal, ...rest } = row
  const {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    imageInputTokens,
    outputTokens,
    reasoningTokens,
    imageOutputTokens,
    inputImages,
    outputImages,
    imageResolution,
    imageQuality,
    ...entry
  } = rest
  const failed = toFailedAttempts(failedAttempts)
  const isImage = imageResolution !== null || imageQuality !== null
  return {
    ...entry,
    queuedMs: admittedAt - row.startedAt,
    usage: {
      inputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      imageInputTokens,
      outputTokens,
      reasoningTokens,
      imageOutputTokens,
      inputImages,
      outputImages,
    },
    image: isImage
      ? { resolution: imageResolution ?? undefined, quality: imageQuality ?? undefined }
      : null,
    failedAttempts: failed,
    withheldCost: subtractUsd(operatorCost, failureCost(failed)),
    refusal: toRefusal(refusal),
  }
}

/** Null when none failed, which is the rule. */
export const fromFailedAttempts = (attempts: readonly FailedAttempt[]): string | null =>
  attempts.length === 0
    ? null
    : JSON.stringify(
        attempts.map((attempt) => ({ ...attempt, operatorCost: Number(attempt.operatorCost) })),
      )

type StoredAttempt = Omit<FailedAttempt, 'operatorCost'> & { readonly operatorCost: number }

const toFailedAttempts = (stored: string | null): readonly FailedAttempt[] =>
  stored === null
    ? []
    : (JSON.parse(stored) as StoredAttempt[]).map((attempt) => ({
        ...attempt,
        operatorCost: fromInteger(attempt.operatorCost),
      }))

/** Null where nothing was refused, which is the rule. */
export const fromRefusal = (refusal: LoggedRefusal | null): string | null =>
  refusal &&
  JSON.stringify({ ...refusal, hold: refusal.hold === null ? null : Number(refusal.hold) })

type StoredRefusal = Omit<LoggedRefusal, 'hold'> & { readonly hold: number | null }

function toRefusal(stored: string | null): LoggedRefusal | null {
  if (stored === null) return null
  const { hold, ...rest } = JSON.parse(stored) as StoredRefusal
  return { ...rest, hold: hold === null ? null : fromInteger(hold) }
}
