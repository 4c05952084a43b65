/** Puts a vendor's bill together from its pages: what it says of one class of one model on one day becomes one line. */

import {
  DAY_MS,
  type Day,
  dayOf,
  dayStart,
  type Instant,
  nextDay,
  readDay,
  renderInstant,
} from '#domain/clock.ts'
import { DocumentFault, type DocumentPath } from '#domain/document-fault.ts'
import { decimalOf } from '#domain/json.ts'
import type { UsdAttos } from '#domain/money.ts'
import type { Grain } from '#domain/reconcile/side-by-side.ts'

/** In the vendor's name for the model. */
export interface BillLine {
  readonly day: Day
  readonly model: string | null
  readonly className: string
  readonly units: number | null
  readonly amount: UsdAttos | null
  readonly lines: number
}

/** The reports of a vendor that a bill is made of: `costs` has amounts, every other one counts. */
export type ReportKind = string

export interface ReadBill {
  readonly grain: Grain
  readonly counts: boolean
  readonly amounts: boolean
  readonly lines: readonly BillLine[]
  /** The days that every report tells of, in order. */
  readonly days: readonly Day[]
}

interface Line {
  day: Day
  model: string | null
  className: string
  units: number | null
  /** Counted by a report of amounts; only where no other counts it. */
  quantity: number | null
  amount: bigint | null
  lines: number
}

export class BillBuilder {
  readonly #grain: Grain
  readonly #lines = new Map<string, Line>()
  /** By report: how much of each day it tells of. */
  readonly #told = new Map<ReportKind, Map<Day, number>>()
  readonly #buckets = new Set<string>()
  #counts = false
  #amounts = false

  constructor(grain: Grain) {
    this.#grain = grain
  }

  /** A time of which a report tells, even that nothing was. @throws DocumentFault where it lies in two days, or was told before */
  bucket(kind: ReportKind, from: Instant, to: Instant, path: DocumentPath): Day {
    if (kind === 'costs') this.#amounts = true
    else this.#counts = true
    const day = dayOf(from)
    if (to <= from || dayOf((to - 1) as Instant) !== day) {
      throw new DocumentFault(path, 'is a time that is not within one day of UTC')
    }
    const name = `${kind} ${from}`
    if (this.#buckets.has(name)) throw new DocumentFault(path, 'is told of twice')
    this.#buckets.add(name)
    this.#tell(kind, day, to - from)
    return day
  }

  /** A day of a list that has no line for a day without requests. */
  day(kind: ReportKind, day: Day): void {
    const told = this.#toldBy(kind)
    if (!told.has(day)) told.set(day, DAY_MS)
  }

  #tell(kind: ReportKind, day: Day, ms: number): void {
    const told = this.#toldBy(kind)
    told.set(day, (told.get(day) ?? 0) + ms)
  }

  #toldBy(kind: ReportKind): Map<Day, number> {
    let told = this.#told.get(kind)
    if (told === undefined) {
      told = new Map()
      this.#told.set(kind, told)
    }
    return told
  }

  count(day: Day, model: string | null, className: string, units: number): void {
    this.#counts = true
    if (units === 0) return
    const line = this.#line(day, model, className)
    line.units = (line.units ?? 0) + units
  }

  charge(
    day: Day,
    model: string | null,
    className: string,
    amount: bigint,
    quantity: number | null = null,
  ): void {
    this.#amounts = true
    const line = this.#line(day, model, className)
    line.amount = (line.amount ?? 0n) + amount
    line.lines++
    if (quantity !== null) line.quantity = (line.quantity ?? 0) + quantity
  }

  #line(day: Day, model: string | null, className: string): Line {
    const name = JSON.stringify([day, model, className])
    let line = this.#lines.get(name)
    if (line === undefined) {
      line = { day, model, className, units: null, quantity: null, amount: null, lines: 0 }
      this.#lines.set(name, line)
    }
    return line
  }

  /** `isList`: it has no buckets, and tells of all days from its first to its last. */
  finish(isList: boolean): ReadBill {
    const lines = [...this.#lines.values()].map(({ quantity, units, amount, ...line }) => ({
      ...line,
      units: this.#counts ? units : quantity,
      amount: amount as UsdAttos | null,
    }))
    const counts = this.#counts || lines.some(({ units }) => units !== null)
    return {
      grain: this.#grain,
      counts,
      amounts: this.#amounts,
      lines,
      days: isList ? this.#wholeSpan() : this.#daysOfAll(),
    }
  }

  #daysOfAll(): readonly Day[] {
    const [first, ...others] = [...this.#told.values()]
    if (first === undefined) return []
    const isWhole = (told: Map<Day, number>, day: Day): boolean => (told.get(day) ?? 0) >= DAY_MS
    return [...first.keys()]
      .filter((day) => isWhole(first, day) && others.every((told) => isWhole(told, day)))
      .toSorted((a, b) => a - b)
  }

  #wholeSpan(): readonly Day[] {
    const all = [...this.#told.values()].flatMap((told) => [...told.keys()])
    const days: Day[] = []
    if (all.length === 0) return days
    const last = Math.max(...all)
    for (let day = Math.min(...all) as Day; day <= last; day = nextDay(day)) days.push(day)
    return days
  }
}

/** @throws DocumentFault */
export function listAt(value: unknown, path: DocumentPath): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new DocumentFault(path, 'must be a list')
}

/** A whole number of at least 0; what is absent is 0. @throws DocumentFault */
export function countAt(value: unknown, path: DocumentPath): number {
  if (value === undefined || value === null || value === '') return 0
  const count = Number(decimalOf(value) ?? Number.NaN)
  if (Number.isSafeInteger(count) && count >= 0) return count
  throw new DocumentFault(path, 'must be a whole number of at least 0')
}

const ATTO_PLACES = 18
const AMOUNT = /^(-?)(\d+)(?:\.(\d+))?$/

/** Dollars, or `cents` of them, in a decimal of any length: a number or a text. @throws DocumentFault */
export function amountAt(value: unknown, path: DocumentPath, cents = false): bigint {
  const match = AMOUNT.exec(decimalOf(value) ?? '')
  if (match === null) {
    throw new DocumentFault(path, `must be an amount of ${cents ? 'cents' : 'dollars'}`)
  }
  const [, sign, whole = '', fraction = ''] = match
  const places = ATTO_PLACES - (cents ? 2 : 0)
  const kept = BigInt(whole + fraction.slice(0, places).padEnd(places, '0'))
  // What is less than an atto-dollar is left of a float.
  const rounded = kept + ((fraction[places] ?? '0') >= '5' ? 1n : 0n)
  return sign === '-' ? -rounded : rounded
}

/** @throws DocumentFault for any other currency than dollars */
export function requireDollars(currency: unknown, path: DocumentPath): void {
  if (typeof currency === 'string' && currency.toUpperCase() === 'USD') return
  throw new DocumentFault(path, `must be USD (got ${JSON.stringify(currency ?? null)})`)
}

export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

/** The model that a line of tokens is of. @throws DocumentFault where the report was not asked to tell */
export function modelAt(value: unknown, path: DocumentPath): string {
  const model = textOf(value)
  if (model !== null) return model
  throw new DocumentFault(path, 'is missing: ask for group_by[]=model')
}

/** "2026-11-01", also in front of a time. @throws DocumentFault */
export function dayAt(value: unknown, path: DocumentPath): Day {
  const day = readDay(/^(.*?)(?:$|[T ])/.exec(textOf(value) ?? '')?.[1] ?? '')
  if (day !== undefined) return day
  throw new DocumentFault(path, 'must be a day such as 2026-11-01')
}

/** RFC 3339 of the beginning of a day. */
export const beginningOf = (day: Day): string => renderInstant(dayStart(day))
