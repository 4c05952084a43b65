/** The exchange rate: rubles per dollar, set by an operator, stamped on each charge, never rewriting a past one. */
import type { Instant } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { type RubPerUsd, readRubPerUsd } from './money.ts'

export interface Rate {
  readonly rubPerUsd: RubPerUsd
  readonly effectiveFrom: Instant
  /** False while the documented default serves. */
  readonly setByOperator: boolean
}

/** Serves until an operator sets a rate; `status` and `doctor` say so. */
export const DEFAULT_RUB_PER_USD = readRubPerUsd('90') as RubPerUsd

/** Port: rates by date. */
export interface Rates {
  /** The rate in force at `at`. */
  at(at: Instant): MaybePromise<Rate>
  /** Newest first. */
  list(): Promise<readonly Rate[]>
  /** Durable before it resolves. */
  set(rubPerUsd: RubPerUsd, effectiveFrom: Instant): Promise<void>
}
