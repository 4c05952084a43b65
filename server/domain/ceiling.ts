/** The rule of spent, held and the next hold, the same for a day ceiling, a month ceiling and a balance (contract §8). */
import { addUsd, NO_MONEY, type UsdNanos } from './money.ts'

export interface Spending {
  readonly spent: UsdNanos
  /** Σ of the holds of requests still in progress. */
  readonly held: UsdNanos
}

/** `exhausted` waits for the period or the operator; `reserved` waits for requests in progress. */
export type CeilingVerdict = 'admitted' | 'exhausted' | 'reserved'

/**
 * A lone request may cross the ceiling, so that the last cent can be spent; while anything else is held, no request may.
 * Hence no amount of concurrency crosses by more than one request.
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

/** A balance is a ceiling of everything ever credited, with everything ever charged already taken off it. */
export function judgeBalance(balance: UsdNanos, held: UsdNanos, hold: UsdNanos): CeilingVerdict {
  return balance <= NO_MONEY ? 'exhausted' : judgeCeiling({ spent: NO_MONEY, held }, balance, hold)
}
