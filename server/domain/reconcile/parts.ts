/** Takes the difference of a day apart: how much of it each reason is. */
import { FREE, type UsdAttos } from '../money.ts'
import { type Explained, larger, nearestTo } from './explain.ts'
import { DOUBTS, type DoubtReason } from './served.ts'
import {
  doubtedOf,
  greater,
  lesser,
  oursOf,
  type Point,
  type PriceRange,
  type Told,
} from './side-by-side.ts'

export type Reason = 'day_edge' | DoubtReason | 'stated_cost' | 'rounding' | 'price' | 'unexplained'

export interface Part {
  readonly reason: Reason
  /** Null where that is not a matter of requests. */
  readonly requests: number | null
  readonly examples: readonly string[]
  /** Of the difference; null where the bill does not count. */
  readonly units: bigint | null
  readonly amount: UsdAttos
}

/** A vendor states an amount to a millionth of a dollar, or more exactly. */
const ROUNDING = 1_000_000_000_000n
export const ATTOS_PER_NANO = 1_000_000_000n

export const slackOf = ({ theirs }: Point): bigint =>
  BigInt(Math.max(1, theirs?.lines ?? 1)) * ROUNDING

export const within = (difference: bigint, slack: bigint): boolean =>
  difference <= slack && difference >= -slack

export interface Explanation {
  readonly units: Explained
  readonly amount: Explained
  readonly yesterday: Point
}

/** The bill has an amount and no count. */
export function partsOfAmount(
  told: Told,
  { amount: found, yesterday }: Explanation,
): readonly Part[] {
  const { point, amount } = told
  const ours = oursOf(point)
  const stated = point.stated.exact + point.stated.edge
  const difference = (amount ?? FREE) - ours.amount
  const rest = difference - stated - found.from + found.to - (found.doubt - doubtedOf(point).amount)
  const isRounding = within(rest, slackOf(point))
  return filled([
    part('stated_cost', null, stated),
    edgePart(told, yesterday, found, null, found.from - found.to),
    ...doubtParts(told, null, found.doubt - doubtedOf(point).amount),
    part(isRounding ? 'rounding' : 'unexplained', null, rest),
  ])
}

/** The bill counts: what it counts otherwise is a matter of requests, what it asks for the same count one of the price. */
export function partsOfUnits(
  told: Told,
  { units: found, yesterday }: Explanation,
  current: PriceRange | null,
): readonly Part[] {
  const { point, units, amount } = told
  const prices = rangeOf(told, yesterday, current)
  const [moved, doubted] = [found.from - found.to, found.doubt - BigInt(doubtedOf(point).units)]
  const fromRequests = BigInt(units ?? 0) - BigInt(point.exact.units) - found.unexplained
  const unexplained =
    prices === null && found.unexplained !== 0n
      ? (amount ?? FREE)
      : found.unexplained * (prices?.most ?? 0n)
  const billed = amount === null ? null : amount - unexplained
  const beyond =
    billed === null || prices === null ? 0n : beyondPrices(told, billed, fromRequests, prices)
  const isRounding = within(beyond, slackOf(point))
  const difference =
    billed === null
      ? (moved + doubted) * (prices?.most ?? 0n)
      : billed - beyond - oursOf(point).amount
  const ofEdge = doubted === 0n ? difference : moved * (prices?.least ?? 0n)
  return filled([
    edgePart(told, yesterday, found, moved, ofEdge),
    ...doubtParts(told, doubted, difference - ofEdge),
    part(isRounding ? 'rounding' : 'price', 0n, beyond),
    part('unexplained', found.unexplained, unexplained),
  ])
}

/** How far an amount is from what so many units cost, of which only those that are exact have one price alone. */
function beyondPrices(
  { point: { exact } }: Told,
  billed: bigint,
  further: bigint,
  { least, most }: PriceRange,
): bigint {
  const [a, b] = [exact.amount + further * least, exact.amount + further * most]
  return billed - nearestTo(billed, a < b ? { least: a, most: b } : { least: b, most: a })
}

/** Of what may be counted on this day; null where nobody knows it. */
function rangeOf(
  { point, doubts }: Told,
  yesterday: Point,
  current: PriceRange | null,
): PriceRange | null {
  const known = [point.prices, yesterday.edge.units > 0 ? yesterday.prices : null].filter(
    (prices) => prices !== null,
  )
  const [first] = known
  if (first === undefined) return current
  const range = known.reduce(joinRanges, first)
  const isOpen = doubts.has('failed_attempt') || doubts.has('stopped')
  return isOpen && current !== null && current.least > FREE ? widen(range, current) : range
}

const joinRanges = (a: PriceRange, b: PriceRange): PriceRange => ({
  least: lesser(a.least, b.least),
  most: greater(a.most, b.most),
})

/**
 * By the ratio of what the prices of now allow, unless they are as far apart already: nobody noted by which factors a request was sent
 * that was never charged.
 */
function widen({ least, most }: PriceRange, current: PriceRange): PriceRange {
  if (most * current.least >= least * current.most) return { least, most }
  return {
    least: ((least * current.least) / current.most) as UsdAttos,
    most: ((most * current.most) / current.least) as UsdAttos,
  }
}

const filled = (parts: readonly Part[]): readonly Part[] =>
  parts.filter(({ units, amount }) => amount !== FREE || (units !== null && units !== 0n))

const part = (reason: Reason, units: bigint | null, amount: bigint): Part => ({
  reason,
  requests: null,
  examples: [],
  units,
  amount: amount as UsdAttos,
})

const edgePart = (
  { point }: Told,
  yesterday: Point,
  { from, to }: Explained,
  units: bigint | null,
  amount: bigint,
): Part => ({
  ...part('day_edge', units, amount),
  requests: (to === 0n ? 0 : point.edge.requests) + (from === 0n ? 0 : yesterday.edge.requests),
})

/** What is in doubt is put down to its reasons by what each of them may be, further up or further down. */
function doubtParts(
  { point, doubts }: Told,
  units: bigint | null,
  amount: bigint,
): readonly Part[] {
  const reasons = DOUBTS.filter((reason) => doubts.has(reason) || point.doubted.has(reason))
  const spans = reasons.map((reason) => {
    const known = point.doubted.get(reason)?.amount ?? FREE
    return amount < 0n
      ? known
      : larger((doubts.get(reason)?.most ?? 0n) * ATTOS_PER_NANO, known) - known
  })
  const span = spans.reduce((sum, one) => sum + one, 0n)
  let [left, unitsLeft] = [amount, units ?? 0n]
  return reasons.map((reason, index) => {
    const isLast = index === reasons.length - 1
    const share = (whole: bigint): bigint =>
      span === 0n ? 0n : (whole * (spans[index] ?? 0n)) / span
    const [own, count] = isLast ? [left, unitsLeft] : [share(amount), share(units ?? 0n)]
    left -= own
    unitsLeft -= count
    const doubt = doubts.get(reason)
    return {
      ...part(reason, units === null ? null : count, own),
      requests: doubt?.requests ?? point.doubted.get(reason)?.requests ?? 0,
      examples: doubt?.examples.map(({ id }) => id) ?? [],
    }
  })
}
