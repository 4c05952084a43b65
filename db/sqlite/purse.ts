/** A purse that moves: what a period has spent, and what requests in progress hold of it. */
import { addUsd, subtractUsd, type UsdNanos } from '#domain/money.ts'

export interface MutablePurse {
  spent: UsdNanos
  held: UsdNanos
}

export function putAside(purse: MutablePurse, amount: UsdNanos): void {
  purse.held = addUsd(purse.held, amount)
}

/** A hold ends; `spent` is what became of it. */
export function putBack(purse: MutablePurse, held: UsdNanos, spent: UsdNanos): void {
  purse.held = subtractUsd(purse.held, held)
  purse.spent = addUsd(purse.spent, spent)
}
