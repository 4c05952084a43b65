/** The trend: what the log says of each hour, for who looks at days. */
import type { Instant } from './clock.ts'
import type { AccountId } from './id.ts'
import { addUsd, type UsdNanos } from './money.ts'

export interface TrendQuery {
  /** Arrived at this instant or later. */
  readonly since: Instant
  readonly accountId?: AccountId
}

/** Of the requests that arrived in one hour and have ended. */
export interface TrendHour {
  /** Its beginning. */
  readonly hour: Instant
  readonly requests: number
  /** With a status of 500 or more. */
  readonly failed: number
  /** By a limit or for what they asked; they count as requests. */
  readonly refused: number
  /** Those with content. */
  readonly answered: number
  /** The sum of their times to the first content. */
  readonly firstEventMs: number
  /** Of prompts and answers. */
  readonly tokens: number
  readonly cost: UsdNanos
}

/** Of both together, under the hour of the first. */
export const addHours = (a: TrendHour, b: TrendHour): TrendHour => ({
  hour: a.hour,
  requests: a.requests + b.requests,
  failed: a.failed + b.failed,
  refused: a.refused + b.refused,
  answered: a.answered + b.answered,
  firstEventMs: a.firstEventMs + b.firstEventMs,
  tokens: a.tokens + b.tokens,
  cost: addUsd(a.cost, b.cost),
})
