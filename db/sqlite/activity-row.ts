/** A line of the activity log as its row and as the domain's noun. */
import type { ActivityEntry } from '#domain/activity.ts'
import type { activity } from './schema.ts'

type ActivityRow = typeof activity.$inferSelect

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
