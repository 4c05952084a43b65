/** Compares what a provider bills with what our books say that it served, and says which requests the difference can be. */
import type { Day } from '../clock.ts'
import { FREE, type UsdAttos, type UsdNanos } from '../money.ts'
import { type Counted, type Explained, explain, larger, nearestTo } from './explain.ts'
import {
  DOUBTS,
  type Doubt,
  type DoubtReason,
  noSum,
  type ServedCell,
  type ServedDay,
  type Sum,
} from './served.ts'

/** What a bill says of one class of one model on one day, all of its lines together. */
export interface Billed {
  readonly day: Day
  /** By the name that both sides share; null where the bill names none, as with tools. */
  readonly model: string | null
  /** As our receipts name it; what they have no name for, in the vendor's words. */
  readonly className: string
  /** Null where the bill does not count it. */
  readonly units: number | null
  /** Null where the bill has no amount for it alone. */
  readonly amount: UsdAttos | null
  /** How many amounts were added up, each rounded by the vendor. */
  readonly lines: number
}

/**
 * How finely a bill tells classes apart: `classes`, or only the prompt from the answer, with one amount for both together.
 */
export type Grain = 'classes' | 'whole'

export interface Bill {
  readonly lines: readonly Billed[]
  readonly grain: Grain
  /** Whether it counts tokens at all, and whether it has amounts at all. */
  readonly counts: boolean
  readonly amounts: boolean
  /** The days that it tells of. */
  readonly days: ReadonlySet<Day>
}

export interface Books {
  /** The day before the first too, for what it may have left to that. */
  readonly days: readonly ServedDay[]
  /** The name that both sides share of a model of ours. */
  nameOf(model: string): string
  /** What a unit costs at present, at least and at most; null where that is not known. */
  pricesOf(model: string, className: string): PriceRange | null
}

export interface PriceRange {
  readonly least: UsdAttos
  readonly most: UsdAttos
}

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
}

/** A class of the whole prompt, of the whole answer, and the amount for both. */
const WHOLE = { prompt: 'prompt_tokens', answer: 'completion_tokens', amount: 'all' } as const
const ANSWER = new Set(['output_tokens', 'image_output_tokens'])
const TOKENS = /_tokens$/

/** A vendor states an amount to a millionth of a dollar, or more exactly. */
const ROUNDING = 1_000_000_000_000n
/** For what has no price: any number of tokens is within its doubt. */
const ANY = 10n ** 15n

/** One class of one model, over all days. */
interface Series {
  readonly model: string | null
  readonly className: string
  readonly points: Map<Day, Point>
}

interface Point {
  exact: Sum
  edge: Sum
  readonly doubted: Map<DoubtReason, Sum>
  /** Beyond our price, as the provider stated with each answer. */
  stated: { exact: bigint; edge: bigint }
  prices: { least: UsdAttos; most: UsdAttos } | null
  theirs: Billed | null
}

/** For every day of `from` until `to` that the bill tells of, in their order; the rows of a model stand together. */
export function compare(books: Books, bill: Bill, from: Day, to: Day): readonly Row[] {
  const doubts = new DoubtsByModel(books)
  const all = seriesOf(books, bill)
  return all
    .flatMap((series) => rowsOf(series, { books, bill, doubts, from, to }))
    .toSorted((a, b) => a.day - b.day)
}

interface Scope {
  readonly books: Books
  readonly bill: Bill
  readonly doubts: DoubtsByModel
  readonly from: Day
  readonly to: Day
}

/** What is in doubt of a day and a model, whatever its class. */
class DoubtsByModel {
  readonly #known = new Map<string, Map<DoubtReason, Doubt>>()

  constructor({ days, nameOf }: Books) {
    for (const { day, model, doubts } of days) {
      for (const reason of DOUBTS) {
        const doubt = doubts[reason]
        if (doubt === undefined) continue
        this.#add(day, nameOf(model), reason, doubt)
        // Tools have no model on a bill.
        this.#add(day, null, reason, doubt)
      }
    }
  }

  of(day: Day, model: string | null): ReadonlyMap<DoubtReason, Doubt> {
    return this.#known.get(`${day} ${model}`) ?? new Map()
  }

  #add(day: Day, model: string | null, reason: DoubtReason, doubt: Doubt): void {
    const name = `${day} ${model}`
    const known = this.#known.get(name) ?? new Map<DoubtReason, Doubt>()
    const before = known.get(reason) ?? { requests: 0, most: 0n as UsdNanos, examples: [] }
    known.set(reason, {
      requests: before.requests + doubt.requests,
      most: (before.most + doubt.most) as UsdNanos,
      examples: [...before.examples, ...doubt.examples].slice(0, 3),
    })
    this.#known.set(name, known)
  }
}

function seriesOf(books: Books, bill: Bill): readonly Series[] {
  const all = new Map<string, Series>()
  const point = (day: Day, model: string | null, className: string): Point => {
    const name = `${model} ${className}`
    let series = all.get(name)
    if (series === undefined) {
      series = { model, className, points: new Map() }
      all.set(name, series)
    }
    let found = series.points.get(day)
    if (found === undefined) {
      found = noPoint()
      series.points.set(day, found)
    }
    return found
  }
  for (const served of books.days) addServed(served, books, bill, point)
  for (const line of bill.lines) {
    const at = point(line.day, line.model, line.className)
    at.theirs = at.theirs === null ? line : joined(at.theirs, line)
  }
  return [...all.values()].toSorted(
    (a, b) => inText(a.model ?? BEHIND, b.model ?? BEHIND) || order(a) - order(b),
  )
}

/** Sorts behind every name. */
const BEHIND = '\uffff'
const inText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const ORDER = ['input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'cache_write_1h_tokens']
const order = ({ className }: Series): number => {
  const place = ORDER.indexOf(className)
  return place === -1 ? ORDER.length : place
}

const noPoint = (): Point => ({
  exact: noSum(),
  edge: noSum(),
  doubted: new Map(),
  stated: { exact: 0n, edge: 0n },
  prices: null,
  theirs: null,
})

const joined = (a: Billed, b: Billed): Billed => ({
  ...a,
  units: a.units === null ? b.units : a.units + (b.units ?? 0),
  amount: a.amount === null ? b.amount : ((a.amount + (b.amount ?? 0n)) as UsdAttos),
  lines: a.lines + b.lines,
})

type PointAt = (day: Day, model: string | null, className: string) => Point

function addServed(served: ServedDay, books: Books, { grain }: Bill, pointAt: PointAt): void {
  const { day } = served
  const model = books.nameOf(served.model)
  if (grain === 'classes') {
    for (const [name, cell] of served.cells) {
      addCell(pointAt(day, isModels(name) ? model : null, name), cell)
    }
    return
  }
  for (const [name, cell] of served.cells) {
    addCell(pointAt(day, model, WHOLE.amount), cell)
    if (TOKENS.test(name)) addCell(pointAt(day, model, wholeOf(name)), cell)
  }
  const { stated } = pointAt(day, model, WHOLE.amount)
  stated.exact += served.stated.exact.amount
  stated.edge += served.stated.edge.amount
}

function addCell(point: Point, { exact, edge, doubted, leastPrice, mostPrice }: ServedCell): void {
  addSum(point.exact, exact)
  addSum(point.edge, edge)
  for (const reason of DOUBTS) {
    const sum = doubted[reason]
    if (sum === undefined) continue
    const known = point.doubted.get(reason) ?? noSum()
    addSum(known, sum)
    point.doubted.set(reason, known)
  }
  point.prices = {
    least: lesser(point.prices?.least ?? leastPrice, leastPrice),
    most: greater(point.prices?.most ?? mostPrice, mostPrice),
  }
}

const wholeOf = (name: string): string => (ANSWER.has(name) ? WHOLE.answer : WHOLE.prompt)

/** Other classes than these are calls of tools, which a bill counts for all models together. */
const MODELS = /_tokens$|^(?:input_images|output_images|search_units|requests)$/
const isModels = (name: string): boolean => MODELS.test(name)

function addSum(sum: Sum, more: Sum): void {
  sum.requests += more.requests
  sum.units += more.units
  sum.amount = (sum.amount + more.amount) as UsdAttos
}

const lesser = (a: UsdAttos, b: UsdAttos): UsdAttos => (a < b ? a : b)
const greater = (a: UsdAttos, b: UsdAttos): UsdAttos => (a > b ? a : b)

/** A day of a series, with what the bill says of it or, by its silence, that there was nothing. */
interface Told {
  readonly day: Day
  readonly point: Point
  readonly units: number | null
  readonly amount: UsdAttos | null
  readonly doubts: ReadonlyMap<DoubtReason, Doubt>
}

function rowsOf(series: Series, scope: Scope): readonly Row[] {
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
    return [rowOf(series, one, explanation, scope.books)]
  })
}

/** Neither side has anything, or the bill does not tell of the day. */
const isSilent = ({ point, units, amount }: Told): boolean =>
  (units === null && amount === null) || (point.theirs === null && oursOf(point).requests === 0)

function tell({ model, className, points }: Series, day: Day, scope: Scope): Told {
  const { bill, doubts } = scope
  const point = points.get(day) ?? noPoint()
  const told = { day, point, doubts: doubts.of(day, model) }
  if (!bill.days.has(day)) return { ...told, units: null, amount: null }
  const { theirs } = point
  const isWhole = bill.grain === 'whole'
  const hasUnits = bill.counts && className !== WHOLE.amount && TOKENS.test(className)
  const hasAmount = bill.amounts && (!isWhole || className === WHOLE.amount)
  return {
    ...told,
    units: theirs?.units ?? (hasUnits && (theirs === null || !hasAmount) ? 0 : null),
    amount: hasAmount ? (theirs?.amount ?? FREE) : null,
  }
}

function oursOf({ exact, edge, doubted }: Point): Sum {
  const sum = noSum()
  for (const one of [exact, edge, ...doubted.values()]) addSum(sum, one)
  return sum
}

function doubtedOf({ doubted }: Point): Sum {
  const sum = noSum()
  for (const one of doubted.values()) addSum(sum, one)
  return sum
}

const ATTOS_PER_NANO = 1_000_000_000n

function mostOf(doubts: Told['doubts']): bigint {
  let sum = 0n
  for (const { most } of doubts.values()) sum += most
  return sum * ATTOS_PER_NANO
}

function countedUnits(series: Series, { point, units, doubts }: Told, scope: Scope): Counted {
  const doubted = BigInt(doubtedOf(point).units)
  const money = mostOf(doubts)
  const price =
    (point.prices ?? scope.books.pricesOf(series.model ?? '', series.className))?.least ?? null
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
  const most = mostOf(doubts)
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

const slackOf = ({ theirs }: Point): bigint => BigInt(Math.max(1, theirs?.lines ?? 1)) * ROUNDING

const within = (difference: bigint, slack: bigint): boolean =>
  difference <= slack && difference >= -slack

const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount)

interface Explanation {
  readonly units: Explained
  readonly amount: Explained
  readonly yesterday: Point
}

function rowOf(
  { model, className }: Series,
  told: Told,
  explanation: Explanation,
  books: Books,
): Row {
  const { day, point, units, amount } = told
  const { requests: _, ...ours } = oursOf(point)
  const current = books.pricesOf(model ?? '', className)
  const parts =
    units === null ? partsOfAmount(told, explanation) : partsOfUnits(told, explanation, current)
  // The prompt and the answer of a bill with one amount for both are only told.
  const isCounted = className !== WHOLE.prompt && className !== WHOLE.answer
  const wrong = parts.filter(({ reason }) => reason === 'unexplained' || reason === 'price')
  return {
    day,
    model,
    className,
    ours,
    theirs: { units, amount },
    parts,
    unexplained: (isCounted
      ? wrong.reduce((sum, part) => sum + absolute(part.amount), 0n)
      : 0n) as UsdAttos,
  }
}

/** The bill has an amount and no count. */
function partsOfAmount(told: Told, { amount: found, yesterday }: Explanation): readonly Part[] {
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
function partsOfUnits(
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
