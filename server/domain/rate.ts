/** The exchange rate: rubles per dollar, set by an operator, recorded with each charge; past charges never change. */
import type { Act } from './act.ts'
import { type Instant, instant } from './clock.ts'
import type { RubPerUsd } from './money.ts'

export interface Rate {
  readonly rubPerUsd: RubPerUsd
  readonly effectiveFrom: Instant
  /** False while the default is in force. */
  readonly setByOperator: boolean
}

/** In force until an operator sets a rate; `status` and `doctor` report it. */
export const DEFAULT_RUB_PER_USD = 90_000_000n as RubPerUsd

const DEFAULT_RATE: Rate = {
  rubPerUsd: DEFAULT_RUB_PER_USD,
  effectiveFrom: instant(0),
  setByOperator: false,
}

/** The rate in force; before the oldest, as under a clock that is behind, the oldest. */
export function rateAt({ rates }: { readonly rates: readonly Rate[] }, at: Instant): Rate {
  for (const rate of rates) if (rate.effectiveFrom <= at) return rate
  return rates.at(-1) ?? DEFAULT_RATE
}

/** Port: changes of the rate; what it is is in the catalogue. */
export interface Rates {
  /**
   * Durable before it resolves. One that has begun at the act removes those that have not, but were not dated ahead: they were
   * set by a clock that has been set back since. Stale, and nothing is set, in another version of the catalogue than one that is
   * expected.
   */
  set(
    rubPerUsd: RubPerUsd,
    effectiveFrom: Instant,
    act: Act,
    expected?: number,
  ): Promise<'stale' | undefined>
}
