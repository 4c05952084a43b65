/** The exchange rate: rubles per dollar, set by an operator, recorded with each charge; past charges never change. */
import type { Instant } from './clock.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { type RubPerUsd, readRubPerUsd } from './money.ts'

export interface Rate {
  readonly rubPerUsd: RubPerUsd
  readonly effectiveFrom: Instant
  /** False while the default is in force. */
  readonly setByOperator: boolean
}

/** In force until an operator sets a rate; `status` and `doctor` report it. */
export const DEFAULT_RUB_PER_USD = readRubPerUsd('90') as RubPerUsd

/** Port: rates by date. */
export interface Rates {
  /** The rate in force at `at`; before the oldest, as under a clock that is behind, the oldest. */
  at(at: Instant): MaybePromise<Rate>
  /** Newest first. */
  list(): Promise<readonly Rate[]>
  /**
   * Durable before it resolves. One that is not dated ahead removes those that have not begun but were not dated ahead either:
   * they were set by a clock that has been set back since.
   */
  set(rubPerUsd: RubPerUsd, effectiveFrom: Instant): Promise<void>
}
