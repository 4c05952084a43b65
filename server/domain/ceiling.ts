/** The spending rule, the same for daily and monthly ceilings and for the balance (contract §8). */
import { addUsd, NO_MONEY, type UsdNanos } from './money.ts'

export interface Spending {
  readonly spent: UsdNanos
  /** Σ of the holds of requests still in progress. */
  readonly held: UsdNanos
}

/** `exhausted` lasts until the period ends or the operator acts; `reserved` until requests in progress end. */
export type CeilingVerdict = 'admitted' | 'exhausted' | 'reserved'

/**
 * With no other hold, a request may cross the ceiling, so that the last cent can be spent; with any other hold it may not.
 * Therefore a ceiling is exceeded by one request at most, whatever the concurrency.
 */
export function judgeCeiling(
  spending: Spending,
  ceiling: UsdNanos,
  hold: UsdNanos,
): CeilingVerdict {
  if (spending.spent >= ceiling) return 'exhausted'
  if (spending.held === NO_MONEY) return 'admitted'
  return addUsd(addUsd(spending.spent, spending.held), hold) <= ceiling ? 'admitted' : 'reserved'
}
