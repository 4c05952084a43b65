/** Compares what a provider bills with what our books say that it served, and says which requests the difference can be. */
import type { Day } from '../clock.ts'
import { FREE, type UsdAttos } from '../money.ts'
import { type Counted, explain } from './explain.ts'
import { type Part, partsOfAmount, partsOfUnits, slackOf, within } from './parts.ts'
import {
  type Bill,
  type Books,
  DoubtsByModel,
  doubtedOf,
  isToldOnly,
  noPoint,
  oursOf,
  type Scope,
  type Series,
  seriesOf,
  type Told,
  tell,
} from './side-by-side.ts'
import { mostOf, type Reading, spendOnce, unitPriceOf } from './spend-once.ts'

export interface Row {
  readonly day: Day
  readonly model: string | null
  readonly className: string
  readonly ours: { readonly units: number; readonly amount: UsdAttos }
  readonly theirs: { readonly units: number | null; readonly amount: UsdAttos | null }
  /** The difference, theirs without ours, in parts. */
  readonly parts: readonly Part[]
  /** Without a sign, the wrong prices included. */
  readonly unexplained: UsdAttos
  /** Units that nothing explains and nothing prices: what they cost is unknown, and no sum has it. */
  readonly isUnpriced: boolean
}

/** For what has no price: any number of tokens is within its doubt. */
const ANY = 10n ** 15n

/** For every day of `from` until `to` that the bill tells of, in their order; the rows of a model stand together. */
export function compare(books: Books, bill: Bill, from: Day, to: Day): readonly Row[] {
  const scope = { books, bill, doubts: new DoubtsByModel(books), from, to }
  const readings = seriesOf(books, bill).flatMap((series) => readingsOf(series, scope))
  return spendOnce(readings, scope)
    .map((reading) => rowOf(reading, books))
    .toSorted((a, b) => a.day - b.day)
}

function readingsOf(series: Series, scope: Scope): readonly Reading[] {
  const { from, to } = scope
  const days = Array.from({ length: to - from }, (_, index) => (from + index) as Day)
  const told = days.map((day) => tell(series, day, scope))
  const before = series.points.get((from - 1) as Day)
  const byUnits = explain(
    told.map((one) => countedUnits(series, one, scope)),
    BigInt(before?.edge.units ?? 0),
  )
  const byAmount = explain(
    told.map(countedAmount),
    before === undefined ? 0n : before.edge.amount + before.stated.edge,
  )
  return told.flatMap((one, index) => {
    const [units, amount] = [byUnits[index], byAmount[index]]
    if (units === undefined || amount === undefined || isSilent(one)) return []
    const yesterday = index === 0 ? before : told[index - 1]?.point
    const explanation = { units, amount, yesterday: yesterday ?? noPoint() }
    return [{ series, told: one, explanation }]
  })
}

/** Neither side has anything, or the bill does not tell of the day. */
const isSilent = ({ point, units, amount }: Told): boolean =>
  (units === null && amount === null) || (point.theirs === null && oursOf(point).requests === 0)

function countedUnits(series: Series, told: Told, scope: Scope): Counted {
  const { point, units } = told
  const doubted = BigInt(doubtedOf(point).units)
  const money = mostOf(told)
  const price = unitPriceOf(series, told, scope.books)
  const most = money === 0n ? 0n : price === null || price === FREE ? ANY : money / price
  return {
    theirs: units === null ? null : BigInt(units),
    exact: BigInt(point.exact.units),
    edge: BigInt(point.edge.units),
    doubted,
    most: most > doubted ? most : doubted,
  }
}

function countedAmount({ point, amount, doubts }: Told): Counted {
  const exact = point.exact.amount + point.stated.exact
  const edge = point.edge.amount + point.stated.edge
  const doubted = doubtedOf(point).amount
  const most = mostOf({ doubts })
  const ours = exact + edge + doubted
  // What rounding alone explains is no doubt of any request.
  const isRounded = amount !== null && within(amount - ours, slackOf(point))
  return {
    theirs: isRounded ? ours : amount,
    exact,
    edge,
    doubted,
    most: most > doubted ? most : doubted,
  }
}

const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount)

function rowOf({ series, told, explanation }: Reading, books: Books): Row {
  const { model, className } = series
  const { day, point, units, amount } = told
  const { requests: _, ...ours } = oursOf(point)
  const current = books.pricesOf(model ?? '', className)
  const parts =
    units === null ? partsOfAmount(told, explanation) : partsOfUnits(told, explanation, current)
  const isTold = isToldOnly(series)
  const wrong = parts.filter(({ reason }) => reason === 'unexplained' || reason === 'price')
  return {
    day,
    model,
    className,
    ours,
    theirs: { units, amount },
    parts,
    unexplained: (isTold
      ? 0n
      : wrong.reduce((sum, part) => sum + absolute(part.amount), 0n)) as UsdAttos,
    isUnpriced:
      !isTold &&
      amount === null &&
      current === null &&
      parts.some((one) => one.reason === 'unexplained' && one.units !== 0n && one.amount === 0n),
  }
}
