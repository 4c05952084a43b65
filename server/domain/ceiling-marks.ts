/** Marks of a spend ceiling: the shares of it at which somebody is told. */
import type { UsdNanos } from './money.ts'

/** A mark that is not known yet: any spend passes it, and the next one is found out. */
export const UNKNOWN_MARK = 0n as UsdNanos
/** More than can ever be spent: nobody is told again. */
const NO_MARK = (2n ** 63n) as UsdNanos

export interface PassedMark {
  /** The highest share that is passed; null where none is. */
  readonly percent: number | null
  /** From what is spent on the next one is passed. */
  readonly next: UsdNanos
}

/** Rounded up: a mark is passed once its whole share is spent. */
export const shareOf = (ceiling: UsdNanos, percent: number): UsdNanos =>
  ((ceiling * BigInt(percent) + 99n) / 100n) as UsdNanos

/** `percents` ascend; a null ceiling has no marks. */
export function passedMark(
  spent: UsdNanos,
  ceiling: UsdNanos | null,
  percents: readonly number[],
): PassedMark {
  if (ceiling === null) return { percent: null, next: NO_MARK }
  let percent: number | null = null
  for (const one of percents) {
    const mark = shareOf(ceiling, one)
    if (spent < mark) return { percent, next: mark }
    percent = one
  }
  return { percent, next: NO_MARK }
}
