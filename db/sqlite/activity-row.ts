/** A line of the activity log as its row and as the domain's noun. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import type { activity } from './schema.ts'

type ActivityRow = typeof activity.$inferSelect

/** `admittedAt` is null for a request that was refused. */
export const fromActivity = (
  { usage, ...entry }: ActivityEntry,
  admittedAt: Instant | null,
): ActivityRow => ({
  ...entry,
  ...usage,
  admitted: admittedAt !== null,
  admittedAt: admittedAt ?? entry.startedAt,
})

export const toActivity = (row: ActivityRow): ActivityEntry => {
  const { admitted, admittedAt, ...rest } = row
  const {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
    imageOutputTokens,
    inputImages,
    outputImages,
    ...entry
  } = rest
  return {
    ...entry,
    usage: {
      inputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      outputTokens,
      reasoningTokens,
      imageOutputTokens,
      inputImages,
      outputImages,
    },
  }
}
