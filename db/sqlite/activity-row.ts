/** A line of the activity log as its row and as the domain's noun. */
import type { ActivityEntry, FailedAttempt } from '#domain/activity.ts'
import { fromInteger } from './amount.ts'
import type { activity } from './schema.ts'

type ActivityRow = typeof activity.$inferSelect

export function toActivity(row: ActivityRow): ActivityEntry {
  const { admitted, admittedAt, failedAttempts, operatorCost, ...rest } = row
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
    failedAttempts: toFailedAttempts(failedAttempts),
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
