/** What a request may have cost at most is spent once: the classes of its model share it, and tools have what they leave of those that may have called some. */
import type { Day } from '../clock.ts'
import { FREE } from '../money.ts'
import { type Explained, larger, smaller } from './explain.ts'
import { ATTOS_PER_NANO, type Explanation } from './parts.ts'
import {
  type Books,
  doubtedOf,
  isToldOnly,
  type Scope,
  type Series,
  type Told,
} from './side-by-side.ts'

/** A day of a series, and what it can be. */
export interface Reading {
  readonly series: Series
  readonly told: Told
  readonly explanation: Explanation
}

/** What goes beyond that is unexplained. */
export function spendOnce(
  readings: readonly Reading[],
  { books, doubts }: Scope,
): readonly Reading[] {
  const spent = new Map<string, bigint>()
  const models = Map.groupBy(
    readings.filter(({ series }) => series.model !== null && !isToldOnly(series)),
    ({ series, told }) => `${told.day} ${series.model}`,
  )
  const cut = new Map<Reading, Reading>()
  const spend = (rows: readonly Reading[], most: bigint): bigint => {
    const doubted = rows.map((row) => inMoney(row, books))
    let rest = doubted.reduce((sum, { base }) => sum - base, most)
    for (const [index, row] of rows.entries()) {
      const { extra, price } = doubted[index] as DoubtedMoney
      const given = rest < extra ? (rest > 0n ? rest : 0n) : extra
      if (given < extra) cut.set(row, without(row, extra - given, price))
      rest -= given
    }
    return most - rest
  }
  for (const [name, rows] of models) {
    const [{ told }] = rows as [Reading]
    spent.set(name, spend(rows, mostOf(told)))
  }
  const leftForTools = (day: Day): bigint => {
    let left = 0n
    for (const [model, most] of doubts.ofTools(day)) {
      const rest = mostOf({ doubts: doubts.of(day, model) }) - (spent.get(`${day} ${model}`) ?? 0n)
      left += larger(0n, smaller(most * ATTOS_PER_NANO, rest))
    }
    return left
  }
  const tools = Map.groupBy(
    readings.filter(({ series }) => series.model === null),
    ({ told }) => told.day,
  )
  for (const [day, rows] of tools) spend(rows, leftForTools(day))
  return readings.map((row) => cut.get(row) ?? row)
}

export function mostOf({ doubts }: Pick<Told, 'doubts'>): bigint {
  let sum = 0n
  for (const { most } of doubts.values()) sum += most
  return sum * ATTOS_PER_NANO
}

/** The least that one of a class costs, by the books or else by the bill; null where neither knows. */
export function unitPriceOf(
  { model, className }: Series,
  { point, units, amount }: Pick<Told, 'point' | 'units' | 'amount'>,
  books: Books,
): bigint | null {
  const known = (point.prices ?? books.pricesOf(model ?? '', className))?.least
  if (known !== undefined) return known
  return amount === null || units === null || units <= 0 ? null : amount / BigInt(units)
}

/** What is in doubt, in money: as it was charged, and beyond that. */
interface DoubtedMoney {
  readonly base: bigint
  readonly extra: bigint
  /** Of a unit; null where the amount itself is explained. */
  readonly price: bigint | null
}

function inMoney({ series, told, explanation }: Reading, books: Books): DoubtedMoney {
  const doubted = doubtedOf(told.point)
  if (told.units === null) return { ...priced(explanation.amount, doubted.amount, 1n), price: null }
  const price = unitPriceOf(series, told, books) ?? FREE
  const { base, extra } = priced(explanation.units, BigInt(doubted.units), price)
  return { base: extra > 0n ? doubted.amount : base, extra, price }
}

function priced({ doubt }: Explained, doubted: bigint, price: bigint) {
  const base = doubt < doubted ? doubt : doubted
  return { base: base * price, extra: (doubt - base) * price }
}

function without(row: Reading, money: bigint, price: bigint | null): Reading {
  const { explanation } = row
  const less = (found: Explained, by: bigint): Explained => ({
    ...found,
    doubt: found.doubt - by,
    unexplained: found.unexplained + by,
  })
  return {
    ...row,
    explanation:
      price === null
        ? { ...explanation, amount: less(explanation.amount, money) }
        : { ...explanation, units: less(explanation.units, (money + price - 1n) / price) },
  }
}
