/** The usage report: requests, tokens and cost by account, key, end user, model, provider, surface, day or hour. */
import type { Instant } from './clock.ts'
import type { AccountId } from './id.ts'
import { addUsd, NO_MONEY, type RubMicros, subtractUsd, type UsdNanos } from './money.ts'

export const USAGE_DIMENSIONS = [
  'account',
  'key',
  'user',
  'model',
  'provider',
  'surface',
  'day',
  'hour',
] as const
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

/** Requests count at their admission, as for ceilings; refused requests are excluded. */
export interface UsageQuery {
  readonly by: UsageDimension
  /** Splits each group further; another dimension than `by`. */
  readonly thenBy: UsageDimension | null
  readonly accountId?: AccountId
  /** Only these groups of `thenBy`, where that is a name and no time. */
  readonly among?: readonly (string | null)[]
  /** Only of keys that this person made. */
  readonly madeBy?: string
  /** Admitted at this instant or later. */
  readonly since?: Instant
  /** Admitted before this instant. */
  readonly until?: Instant
  /** The number of rows, highest cost first; at most `MAX_USAGE_GROUPS`. */
  readonly top: number
}

export const MAX_USAGE_GROUPS = 10_000

export interface UsageSum {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly images: number
  readonly cost: UsdNanos
  readonly costRub: RubMicros
}

/** The id of an account or a key, a name, a `Day`, or the `Instant` of the beginning of an hour; null: no end user, or no provider. */
export type UsageGroup = string | number | null

export interface UsageRow extends UsageSum {
  readonly by: UsageGroup
  /** Also null without a second dimension. */
  readonly thenBy: UsageGroup
}

export interface UsageReport {
  /** Highest cost first; at equal cost, more requests first. */
  readonly rows: readonly UsageRow[]
  /** The sum and the number of the groups without a row. */
  readonly other: UsageSum
  readonly others: number
  readonly total: UsageSum
}

export const NO_SUM: UsageSum = {
  requests: 0,
  promptTokens: 0,
  completionTokens: 0,
  images: 0,
  cost: NO_MONEY,
  costRub: 0n as RubMicros,
}

export const addSums = (a: UsageSum, b: UsageSum): UsageSum => ({
  requests: a.requests + b.requests,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  images: a.images + b.images,
  cost: addUsd(a.cost, b.cost),
  costRub: (a.costRub + b.costRub) as RubMicros,
})

export const subtractSums = (a: UsageSum, b: UsageSum): UsageSum => ({
  requests: a.requests - b.requests,
  promptTokens: a.promptTokens - b.promptTokens,
  completionTokens: a.completionTokens - b.completionTokens,
  images: a.images - b.images,
  cost: subtractUsd(a.cost, b.cost),
  costRub: (a.costRub - b.costRub) as RubMicros,
})

/** Highest cost first; what is alike keeps its order, which is that of the names. */
export function byCost(a: UsageRow, b: UsageRow): number {
  if (a.cost !== b.cost) return a.cost < b.cost ? 1 : -1
  return b.requests - a.requests
}
