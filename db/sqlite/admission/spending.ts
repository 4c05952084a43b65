/** The running sums of a ceiling: what a period has spent, and what requests in progress hold of it. */
import { addUsd, subtractUsd, type UsdNanos } from '#domain/money.ts'

export interface MutableSpending {
  spent: UsdNanos
  held: UsdNanos
}

export function addHold(spending: MutableSpending, amount: UsdNanos): void {
  spending.held = addUsd(spending.held, amount)
}

/** A hold ends; `spent` is what became of it. */
export function endHold(spending: MutableSpending, held: UsdNanos, spent: UsdNanos): void {
  spending.held = subtractUsd(spending.held, held)
  spending.spent = addUsd(spending.spent, spent)
}
