/** The running sums of a ceiling: what a period has spent, and what requests in progress hold of it. */
import { addUsd, subtractUsd, type UsdNanos } from '#domain/money.ts'

export interface MutableSpending {
  spent: UsdNanos
  held: UsdNanos
}

export function addHold(purse: MutableSpending, amount: UsdNanos): void {
  purse.held = addUsd(purse.held, amount)
}

/** A hold ends; `spent` is what became of it. */
export function endHold(purse: MutableSpending, held: UsdNanos, spent: UsdNanos): void {
  purse.held = subtractUsd(purse.held, held)
  purse.spent = addUsd(purse.spent, spent)
}
