/** A key as its row and as the domain's noun. */
import type { ApiKey } from '#domain/key.ts'
import type { keys } from './schema.ts'

type KeyRow = typeof keys.$inferSelect

export const toKey = (row: KeyRow): ApiKey => {
  const { rpm, rpd, concurrency, dailySpend, monthlySpend, allowedModels, ...rest } = row
  return { ...rest, limits: { rpm, rpd, concurrency, dailySpend, monthlySpend, allowedModels } }
}

export const fromKey = ({ limits, ...rest }: ApiKey): KeyRow => ({
  ...rest,
  ...limits,
  allowedModels: limits.allowedModels,
})
