/** What is used of an account's limits: as of a key's, but its sums are read in slices, because it may have a hundred thousand keys. */
import { type Day, type Instant, nextDay, nextMonthStart } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareAccountSpendReader } from '../money/spend-reader.ts'
import { forgetUseMarks, type Held, type HotUse, startUse, sumHolds } from './hot-use.ts'

export interface SharedUse extends HotUse {
  /** Whether the sum of the month stays while the others are read: only the next day has begun. */
  hasMonth: boolean
  /** Whether the disk had refused writes when the sums were read. */
  lacksWrites: boolean
  /** How often its sums were given up: what was begun to be read before is not taken. */
  gaveUp: number
}

/** Of a day that nobody has asked for yet. */
const NO_DAY = -1 as Day

/** Its sums and windows are read when it is next asked for. */
export const unreadUse = (holds: HotUse['holds']): SharedUse => ({
  ...startUse(Number.NEGATIVE_INFINITY as Instant, 0, NO_DAY, NO_DAY, holds),
  hasMonth: false,
  lacksWrites: false,
  gaveUp: 0,
})

/** They are read again before the next request is judged. */
export function giveUpSums(use: SharedUse, hasMonth = false): void {
  use.hasSums = false
  use.hasMonth = hasMonth
  use.gaveUp++
}

interface ReadSums {
  readonly gaveUp: number
  readonly day: UsdNanos
  readonly month: UsdNanos
  /** Those that were in progress before: nobody else is admitted until they are taken. */
  readonly running: readonly Held[]
  /** Those of them whose charge is in the sums. */
  readonly counted: ReadonlySet<Held>
  readonly lacksWrites: boolean
}

/** Reads the sums of its day and month; other turns pass meanwhile. */
export function prepareReadSums(
  connection: Connection,
): (id: AccountId, use: SharedUse) => Promise<ReadSums> {
  const { commit } = connection
  const readSlices = prepareAccountSpendReader(connection)
  return async (id, use) => {
    const { today, thisMonth, gaveUp, hasMonth } = use
    const running = [...use.holds()]
    const counted = new Set<Held>()
    let [day, month, lacksWrites] = [NO_MONEY, NO_MONEY, false]
    const ofDay = [today, nextDay(today)] as const
    const spans = hasMonth ? [ofDay] : [ofDay, [thisMonth, nextMonthStart(thisMonth)] as const]
    await readSlices(id, spans, ({ after, upTo }, [inDay = NO_MONEY, inMonth = NO_MONEY]) => {
      day = addUsd(day, inDay)
      month = addUsd(month, inMonth)
      lacksWrites ||= !commit.writable
      for (const held of running) {
        const { keyId } = held.claim
        if (held.outcome !== null && keyId > after && keyId <= upTo) counted.add(held)
      }
    })
    return { gaveUp, day, month, running, counted, lacksWrites }
  }
}

/** From now on the sums are those that were read, with what has ended since; not where they were given up meanwhile. */
export function takeSums(use: SharedUse, read: ReadSums): void {
  if (read.gaveUp !== use.gaveUp) return
  let { day, month } = read
  for (const held of read.running) {
    if (held.outcome === null || read.counted.has(held)) continue
    if (held.day === use.today) day = addUsd(day, held.outcome.spent)
    if (held.month === use.thisMonth) month = addUsd(month, held.outcome.spent)
  }
  const held = sumHolds(use)
  use.daySpend.spent = day
  if (!use.hasMonth) use.monthSpend.spent = month
  use.daySpend.held = held.day
  use.monthSpend.held = held.month
  use.lacksWrites = read.lacksWrites
  use.hasSums = true
  forgetUseMarks(use)
}
