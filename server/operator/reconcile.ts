/** Compares a vendor's bill with what our books say that it served. */
import * as z from 'zod/mini'
import type { Catalogue } from '#domain/catalogue.ts'
import { type Day, dayOf, dayStart, readDay, renderDay, renderInstant } from '#domain/clock.ts'
import type { GatewayError } from '#domain/errors.ts'
import { draftEvent } from '#domain/event.ts'
import { ANY_IMAGE, priceAt, routeOf } from '#domain/model-card.ts'
import {
  FREE,
  readPrice,
  renderPrice,
  renderUsd,
  roundToNanos,
  type UsdAttos,
} from '#domain/money.ts'
import { unitPricesOf } from '#domain/pricing.ts'
import { compare, type Row } from '#domain/reconcile/compare.ts'
import { groupNames } from '#domain/reconcile/model-names.ts'
import type { Reason } from '#domain/reconcile/parts.ts'
import { DOUBTS, type DoubtReason, type ServedDay } from '#domain/reconcile/served.ts'
import type { Books, PriceRange } from '#domain/reconcile/side-by-side.ts'
import { readAs, timeField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { keptSince } from './kept-since.ts'
import { findProvider } from './providers.ts'
import { type DraftAct, invalidInput, mutation } from './verb.ts'

export interface ReconcilePartRecord {
  readonly reason: Reason
  /** How many requests it may be; null where that is not a matter of requests. */
  readonly requests: number | null
  /** Of the difference; null where the bill does not count. */
  readonly units: number | null
  readonly usd: string
  /** Some of the requests, those that may have cost most first. */
  readonly examples: readonly string[]
}

export interface ReconcileRowRecord {
  /** UTC. */
  readonly day: string
  /** As both sides call it; null for what a bill has of no model. */
  readonly model: string | null
  readonly class: string
  readonly our_units: number
  readonly our_usd: string
  /** Null where the bill does not count, or has no amount of it alone. */
  readonly their_units: number | null
  readonly their_usd: string | null
  /** Theirs without ours. */
  readonly difference_units: number | null
  readonly difference_usd: string | null
  readonly parts: readonly ReconcilePartRecord[]
  readonly unexplained_usd: string
}

export interface ReconcileRecord {
  readonly provider: string
  readonly since: string
  /** Exclusive. */
  readonly until: string
  /** Days of that time of which the bill tells nothing: they are left out. */
  readonly missing_days: readonly string[]
  /** Requests that ended before are no longer in the log; null where all are. */
  readonly kept_since: string | null
  /** Our names of the models, by the names of the rows. */
  readonly models: Readonly<Record<string, readonly string[]>>
  readonly rows: readonly ReconcileRowRecord[]
  /** By reason, over all rows; without the rows that are only told. */
  readonly parts: readonly Omit<ReconcilePartRecord, 'units' | 'examples'>[]
  readonly total: {
    readonly our_usd: string
    /** Null for a bill without amounts. */
    readonly their_usd: string | null
    readonly difference_usd: string | null
    readonly unexplained_usd: string
    /** Of the bill, or of our amount where that has none; null where it is nothing. */
    readonly unexplained_percent: number | null
    /** What keys were charged for the same requests. */
    readonly charged_usd: string
    /** Requests that may have cost anything up to so much. */
    readonly in_doubt_requests: number
    readonly in_doubt_usd: string
  }
  readonly tolerance_percent: string
  readonly within_tolerance: boolean
}

const dayField = readAs(readDay, 'a day such as "2026-11-01"')

/** Signed. */
const amountField = readAs((text) => {
  const price = readPrice(text.replace(/^-/, ''))
  return price === undefined ? undefined : ((text.startsWith('-') ? -price : price) as UsdAttos)
}, 'an amount of dollars')

const MAX_LINES = 200_000
const MAX_DAYS = 400

const billLine = z.strictObject({
  day: dayField,
  model: z.nullable(z.string().check(z.maxLength(512))),
  class: z.string().check(z.maxLength(512)),
  units: z.nullable(z.int()),
  usd: z.nullable(amountField),
  lines: z.int(),
})

/** The bill as it was read from the vendor's reports. */
const billField = z.strictObject({
  grain: z.enum(['classes', 'whole']),
  counts: z.boolean(),
  amounts: z.boolean(),
  days: z.array(dayField).check(z.maxLength(MAX_DAYS)),
  lines: z.array(billLine).check(z.maxLength(MAX_LINES)),
})

const toleranceField = readAs((text) => {
  const percent = readPrice(text)
  return percent === undefined || percent > 100n * ONE ? undefined : percent
}, 'a percentage from 0 to 100 such as "0.1"')

const ONE = 10n ** 18n

/**
 * Whole days of UTC; of the days of the bill alone. The operator is told where more stays unexplained than is tolerated. @throws provider_not_found, invalid_request, store_unavailable
 */
export const reconcile = mutation(
  'reconcile',
  z.strictObject({
    provider: z.string(),
    since: timeField,
    until: timeField,
    bill: billField,
    /** The bill's names of models that have another here. */
    names: z._default(z.record(z.string(), z.string()), {}),
    tolerance_percent: z._default(toleranceField, (ONE / 10n) as UsdAttos),
  }),
  async (deps, input, act): Promise<ReconcileRecord> => {
    const { provider } = input
    findProvider(deps, provider)
    const [from, to] = [dayOf(input.since), dayOf(input.until)]
    if (to <= from) throw invalidInput('until', 'must be at least a day after since')
    if (to - from > MAX_DAYS) throw invalidInput('since', `must be at most ${MAX_DAYS} days before`)
    const days = daysBetween(from, to)
    const told = new Set(input.bill.days)
    if (!days.some((day) => told.has(day))) throw untold(input.bill.days)
    const served = await deps.store.activity.served({
      provider,
      since: dayStart((from - 1) as Day),
      until: dayStart(to),
    })
    const { books, shared } = booksOf(deps, served, input)
    const lines = input.bill.lines.map(({ class: className, usd: amount, ...line }) => ({
      ...line,
      model: line.model === null ? null : shared(line.model),
      className,
      amount,
    }))
    const rows = compare(books, { ...input.bill, lines, days: told }, from, to)
    const within = books.days.filter(({ day }) => day >= from && told.has(day))
    const span = {
      since: renderInstant(dayStart(from)),
      until: renderInstant(dayStart(to)),
    }
    const sums = sumUp(rows, within, input)
    await tell(deps, { provider, ...span }, sums, act)
    return {
      provider,
      ...span,
      missing_days: days.filter((day) => !told.has(day)).map(renderDay),
      kept_since: await keptSince(deps, dayStart(from)),
      models: modelsOf(within, books),
      rows: rows.map(renderRow),
      ...sums,
    }
  },
)

/** Raises what lasts until a bill of the provider is explained again, or ends it. */
async function tell(
  { store, clock }: OperatorDeps,
  bill: { readonly provider: string; readonly since: string; readonly until: string },
  { total, tolerance_percent, within_tolerance }: ReturnType<typeof sumUp>,
  act: DraftAct,
): Promise<void> {
  const { provider, since, until } = bill
  if (within_tolerance) {
    await store.events.lift('gateway.bill_differs', provider, clock.now(), null)
    return
  }
  const unexplained_usd = renderUsd(roundToNanos(readPrice(total.unexplained_usd) ?? FREE))
  const facts = { provider, since, until, unexplained_usd, tolerance_percent }
  const told = act(provider, { since, until, unexplained_usd, tolerance_percent })
  await store.events.raise(draftEvent('gateway.bill_differs', facts, clock.now()), told)
}

const daysBetween = (from: Day, to: Day): readonly Day[] =>
  Array.from({ length: to - from }, (_, index) => (from + index) as Day)

function untold(days: readonly Day[]): GatewayError {
  const [first, last] = [days.at(0), days.at(-1)]
  return invalidInput(
    'bill',
    first === undefined || last === undefined
      ? 'tells of no whole day'
      : `tells of ${renderDay(first)} to ${renderDay(last)}, none of which is in the time that was asked for`,
  )
}

/** What the provider calls a model of ours; of one that is gone, the second half of its id. */
function namesAt(models: Catalogue['models'], provider: string): (model: string) => string {
  return (id) => {
    const card = models.get(id)
    const hop = card && routeOf(card).find((one) => one.provider === provider)
    if (hop) return hop.upstreamName
    return card?.provider === provider ? card.upstreamName : id.slice(id.indexOf('/') + 1)
  }
}

interface Input {
  readonly provider: string
  readonly bill: z.output<typeof billField>
  readonly names: Readonly<Record<string, string>>
}

/** The books, and the name that they share with the bill of what that calls so. */
function booksOf(
  { store, clock }: OperatorDeps,
  served: readonly ServedDay[],
  { provider, bill, names }: Input,
): { readonly books: Books; shared(name: string): string } {
  const { models } = store.catalogue.current()
  const upstreamOf = namesAt(models, provider)
  const serves = (id: string): boolean => {
    const card = models.get(id)
    return card === undefined || routeOf(card).some((hop) => hop.provider === provider)
  }
  // Nobody knows who had a request when the gateway died; only who may have had it.
  const days = served.filter(
    ({ model, cells, doubts }) =>
      cells.size > 0 || Object.keys(doubts).some((reason) => reason !== 'stopped') || serves(model),
  )
  const theirs = bill.lines.flatMap(({ model }) => model ?? [])
  const shared = groupNames(
    days.map(({ model }) => upstreamOf(model)),
    theirs,
    names,
  )
  const nameOf = (model: string): string => shared(upstreamOf(model))
  const at = clock.now()
  const cards = new Map(
    [...models.values()].filter(({ id }) => serves(id)).map((card) => [nameOf(card.id), card]),
  )
  const pricesOf = (name: string, className: string): PriceRange | null => {
    const card = cards.get(name)
    const version = card && priceAt(card, at)
    if (!version) return null
    const asked = WHOLE_CLASSES[className] ?? className
    const prices = unitPricesOf(asked, version, ANY_IMAGE, version.prices.modifiers).toSorted(
      (a, b) => (a < b ? -1 : 1),
    )
    const [least, most] = [prices.at(0), prices.at(-1)]
    return least === undefined || most === undefined ? null : { least, most }
  }
  return { books: { days, nameOf, pricesOf }, shared }
}

const WHOLE_CLASSES: Readonly<Record<string, string>> = {
  prompt_tokens: 'input_tokens',
  completion_tokens: 'output_tokens',
}

function modelsOf(served: readonly ServedDay[], { nameOf }: Books): ReconcileRecord['models'] {
  const ids = [...new Set(served.map(({ model }) => model))].toSorted()
  return Object.fromEntries(Map.groupBy(ids, nameOf))
}

const renderAttos = (amount: bigint): string => renderPrice(amount as UsdAttos)

function renderRow(row: Row): ReconcileRowRecord {
  const { ours, theirs } = row
  return {
    day: renderDay(row.day),
    model: row.model,
    class: row.className,
    our_units: ours.units,
    our_usd: renderAttos(ours.amount),
    their_units: theirs.units,
    their_usd: theirs.amount === null ? null : renderAttos(theirs.amount),
    difference_units: theirs.units === null ? null : theirs.units - ours.units,
    difference_usd: theirs.amount === null ? null : renderAttos(theirs.amount - ours.amount),
    parts: row.parts.map(({ reason, requests, units, amount, examples }) => ({
      reason,
      requests,
      units: units === null ? null : Number(units),
      usd: renderAttos(amount),
      examples,
    })),
    unexplained_usd: renderAttos(row.unexplained),
  }
}

const ATTOS_PER_NANO = 1_000_000_000n

function sumUp(
  rows: readonly Row[],
  served: readonly ServedDay[],
  {
    bill,
    tolerance_percent,
  }: { bill: { readonly amounts: boolean; readonly grain: string }; tolerance_percent: UsdAttos },
): Pick<ReconcileRecord, 'parts' | 'total' | 'tolerance_percent' | 'within_tolerance'> {
  // The prompt and the answer of a bill with one amount for both are in that, too.
  const counted =
    bill.grain === 'classes' ? rows : rows.filter(({ className }) => className === 'all')
  const sum = (of: (row: Row) => bigint): bigint =>
    counted.reduce((whole, row) => whole + of(row), 0n)
  const [ours, unexplained] = [sum((row) => row.ours.amount), sum((row) => row.unexplained)]
  const theirs = bill.amounts ? sum((row) => row.theirs.amount ?? FREE) : null
  const base = theirs ?? ours
  const charged = served.reduce((whole, { charged: some }) => whole + some, 0n)
  const most = served.reduce((whole, { begun }) => whole + begun.most, 0n)
  return {
    parts: partsOf(counted, served),
    total: {
      our_usd: renderAttos(ours),
      their_usd: theirs === null ? null : renderAttos(theirs),
      difference_usd: theirs === null ? null : renderAttos(theirs - ours),
      unexplained_usd: renderAttos(unexplained),
      unexplained_percent: base <= 0n ? null : Number((unexplained * 10_000_000n) / base) / 100_000,
      charged_usd: renderAttos(charged * ATTOS_PER_NANO),
      in_doubt_requests: served.reduce((whole, { begun }) => whole + begun.requests, 0),
      in_doubt_usd: renderAttos(most * ATTOS_PER_NANO),
    },
    tolerance_percent: renderPrice(tolerance_percent),
    within_tolerance:
      !counted.some(({ isUnpriced }) => isUnpriced) &&
      unexplained * 100n * ONE <= tolerance_percent * (base > 0n ? base : 0n),
  }
}

/** The same request is in several rows, of as many classes; it is counted once. */
function partsOf(rows: readonly Row[], served: readonly ServedDay[]): ReconcileRecord['parts'] {
  const all = rows.flatMap(({ parts }) => parts)
  const requests = (reason: Reason): number | null =>
    DOUBTS.some((doubt) => doubt === reason)
      ? served.reduce((sum, { begun }) => sum + (begun.byReason[reason as DoubtReason] ?? 0), 0)
      : null
  return [...Map.groupBy(all, ({ reason }) => reason)].map(([reason, parts]) => ({
    reason,
    requests: requests(reason),
    usd: renderAttos(parts.reduce((sum, { amount }) => sum + amount, 0n)),
  }))
}
