/** A vendor's bill and our books side by side: for each class of each model what both say of each day. */
import type { Day } from '../clock.ts'
import { FREE, type UsdAttos, type UsdNanos } from '../money.ts'
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

/** A class of the whole prompt, of the whole answer, and the amount for both. */
const WHOLE = {
  prompt: 'prompt_tokens',
  answer: 'completion_tokens',
  amount: 'all',
} as const
/** The prompt and the answer of a bill with one amount for both. */
export const isToldOnly = ({ className }: Series): boolean =>
  className === WHOLE.prompt || className === WHOLE.answer
const ANSWER = new Set(['output_tokens', 'image_output_tokens'])
const TOKENS = /_tokens$/

/** One class of one model, over all days. */
export interface Series {
  readonly model: string | null
  readonly className: string
  readonly points: Map<Day, Point>
}

export interface Point {
  exact: Sum
  edge: Sum
  readonly doubted: Map<DoubtReason, Sum>
  /** Beyond our price, as the provider stated with each answer. */
  stated: { exact: bigint; edge: bigint }
  prices: { least: UsdAttos; most: UsdAttos } | null
  theirs: Billed | null
}

export interface Scope {
  readonly books: Books
  readonly bill: Bill
  readonly doubts: DoubtsByModel
  readonly from: Day
  readonly to: Day
}

/** What is in doubt of a day and a model, whatever its class; of tools, which have no model on a bill, for all models. */
export class DoubtsByModel {
  readonly #known = new Map<string, Map<DoubtReason, Doubt>>()
  /** By day and model. */
  readonly #ofTools = new Map<Day, Map<string, bigint>>()

  constructor({ days, nameOf }: Books) {
    for (const { day, model: ours, doubts, toolDoubts } of days) {
      const model = nameOf(ours)
      const ofTools = this.#ofTools.get(day) ?? new Map<string, bigint>()
      this.#ofTools.set(day, ofTools)
      for (const reason of DOUBTS) {
        this.#add(day, model, reason, doubts[reason])
        this.#add(day, null, reason, toolDoubts[reason])
        ofTools.set(model, (ofTools.get(model) ?? 0n) + (toolDoubts[reason]?.most ?? 0n))
      }
    }
  }

  of(day: Day, model: string | null): ReadonlyMap<DoubtReason, Doubt> {
    return this.#known.get(`${day} ${model}`) ?? new Map()
  }

  /** What the requests of each model that may have called tools cost at most. */
  ofTools(day: Day): ReadonlyMap<string, bigint> {
    return this.#ofTools.get(day) ?? new Map()
  }

  #add(day: Day, model: string | null, reason: DoubtReason, doubt: Doubt | undefined): void {
    if (doubt === undefined) return
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

export function seriesOf(books: Books, bill: Bill): readonly Series[] {
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

export const noPoint = (): Point => ({
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

export const lesser = (a: UsdAttos, b: UsdAttos): UsdAttos => (a < b ? a : b)
export const greater = (a: UsdAttos, b: UsdAttos): UsdAttos => (a > b ? a : b)

/** A day of a series, with what the bill says of it or, by its silence, that there was nothing. */
export interface Told {
  readonly day: Day
  readonly point: Point
  readonly units: number | null
  readonly amount: UsdAttos | null
  readonly doubts: ReadonlyMap<DoubtReason, Doubt>
}

export function tell({ model, className, points }: Series, day: Day, scope: Scope): Told {
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

export function oursOf({ exact, edge, doubted }: Point): Sum {
  const sum = noSum()
  for (const one of [exact, edge, ...doubted.values()]) addSum(sum, one)
  return sum
}

export function doubtedOf({ doubted }: Point): Sum {
  const sum = noSum()
  for (const one of doubted.values()) addSum(sum, one)
  return sum
}
