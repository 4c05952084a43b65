/** Adds up the log, line by line, to what one provider served. */
import type { ActivityEntry } from '../activity.ts'
import { type Day, dayOf, type Instant, nextDay } from '../clock.ts'
import { ANY_IMAGE, type PriceVersion } from '../model-card.ts'
import { addUsd, FREE, NO_MONEY, type UsdAttos, type UsdNanos } from '../money.ts'
import {
  type ChargeLine,
  chargeLines,
  PRICE_CLASSES,
  SERVER_TOOL_CALLS,
  unitPricesOf,
} from '../pricing.ts'
import {
  type DoubtReason,
  type Doubts,
  type Example,
  noSum,
  type ServedCell,
  type ServedDay,
  type Sum,
} from './served.ts'

/** A line of the log, with the price that it was charged by. */
export interface ServedEntry
  extends Pick<
    ActivityEntry,
    | 'generationId'
    | 'model'
    | 'provider'
    | 'endedBy'
    | 'usage'
    | 'usageSource'
    | 'modifiers'
    | 'image'
    | 'cost'
    | 'statedCost'
    | 'failedAttempts'
    | 'unchargedCost'
    | 'hold'
  > {
  readonly admittedAt: Instant
  readonly endedAt: Instant
  /** Null where nothing was charged. */
  readonly version: PriceVersion | null
}

/** Adds up the lines of one provider; what it keeps grows with days, models and classes, not with requests. */
export class ServedTally {
  readonly #provider: string
  readonly #days = new Map<string, ServedDay>()

  constructor(provider: string) {
    this.#provider = provider
  }

  get days(): readonly ServedDay[] {
    return [...this.#days.values()]
  }

  add(entry: ServedEntry): void {
    const { provider, usageSource, failedAttempts } = entry
    const isOurs = provider === this.#provider
    // The last attempt failed too where an answer broke off, and was charged as such.
    const apart = usageSource !== null && entry.endedBy === 'upstream' ? -1 : undefined
    const inDoubt: InDoubt[] = []
    for (const attempt of failedAttempts.slice(0, apart)) {
      if (attempt.provider !== this.#provider) continue
      if (attempt.status !== null && attempt.status >= 400 && attempt.operatorCost === NO_MONEY)
        continue
      const bound = most(entry.hold, attempt.operatorCost)
      inDoubt.push({ model: attempt.model, reason: 'failed_attempt', most: bound })
    }
    if (usageSource !== null) {
      if (isOurs) inDoubt.push(...this.#charged(entry))
    } else if (isOurs ? isUntold(entry) : provider === null) {
      inDoubt.push({ model: entry.model, reason: 'stopped', most: most(entry.hold, NO_MONEY) })
    }
    this.#doubt(entry, inDoubt)
  }

  /** Returns what of it is in doubt. */
  #charged(entry: ServedEntry): readonly InDoubt[] {
    const { admittedAt, endedAt, usage, version, image, modifiers, cost, hold, model } = entry
    const day = dayOf(admittedAt)
    const served = this.#day(day, model)
    served.charged = addUsd(served.charged, cost)
    const reason = entry.usageSource === 'provider' ? null : doubtOf(entry)
    const isEdge = dayOf(endedAt) > day
    for (const line of linesOf(usage, version, image, modifiers)) {
      const cell = cellOf(served, line.tool ?? line.name, line.unitPrice)
      addTo(reason !== null ? doubtedIn(cell, reason) : isEdge ? cell.edge : cell.exact, line)
    }
    const inDoubt: InDoubt[] = []
    if (reason !== null) {
      widenPrices(served, entry)
      const bound = reason === 'beyond_hold' ? addUsd(cost, cost) : most(hold, cost)
      inDoubt.push({ model, reason, most: bound })
    } else if (entry.statedCost !== null) {
      const { exact, edge } = served.stated
      const amount = ((entry.statedCost - cost) * ATTOS_PER_NANO) as UsdAttos
      addTo(isEdge ? edge : exact, { count: 0, amount })
    }
    const { unchargedCost } = entry
    if (unchargedCost > NO_MONEY) inDoubt.push({ model, reason: 'withheld', most: unchargedCost })
    return inDoubt
  }

  /** The provider may count it on any day that it ran in. In the sums it is of the day on which it began. */
  #doubt(entry: ServedEntry, inDoubt: readonly InDoubt[]): void {
    const [first, last] = [dayOf(entry.admittedAt), dayOf(entry.endedAt)]
    for (const [place, { model, reason, most: bound }] of inDoubt.entries()) {
      const { begun } = this.#day(first, model)
      if (place === 0) begun.requests++
      if (inDoubt.findIndex((one) => one.reason === reason) === place) {
        begun.byReason[reason] = (begun.byReason[reason] ?? 0) + 1
      }
      begun.most = addUsd(begun.most, bound)
      const one = { id: entry.generationId, most: bound }
      for (let day = first; day <= last; day = nextDay(day)) {
        const { doubts, toolDoubts } = this.#day(day, model)
        addDoubt(doubts, reason, one)
        if (mayHaveCalled(entry, reason)) addDoubt(toolDoubts, reason, one)
      }
    }
  }

  #day(day: Day, model: string): ServedDay {
    const name = `${day} ${model}`
    let known = this.#days.get(name)
    if (known === undefined) {
      const stated = { exact: noSum(), edge: noSum() }
      known = {
        day,
        model,
        charged: NO_MONEY,
        cells: new Map(),
        doubts: {},
        toolDoubts: {},
        begun: { requests: 0, byReason: {}, most: NO_MONEY },
        stated,
      }
      this.#days.set(name, known)
    }
    return known
  }
}

/** Why a request, or an attempt of it, may have cost up to `most`. */
interface InDoubt {
  readonly model: string
  readonly reason: DoubtReason
  readonly most: UsdNanos
}

function addDoubt(doubts: Doubts, reason: DoubtReason, one: Example): void {
  const known = doubts[reason] ?? { requests: 0, most: NO_MONEY, examples: [] }
  doubts[reason] = known
  known.requests++
  known.most = addUsd(known.most, one.most)
  known.examples = withExample(known.examples, one)
}

/** Where an answer has begun, the calls that its request asked for are estimated; of what has none, nobody knows whether it asked. */
function mayHaveCalled({ usage }: ServedEntry, reason: DoubtReason): boolean {
  if (reason === 'withheld') return false
  const { serverCalls, outputTokens, outputImages } = usage
  return serverCalls !== null || outputTokens + outputImages === 0
}

const ATTOS_PER_NANO = 1_000_000_000n

/** Ended here while the provider worked on it, with nothing delivered and nothing charged. */
const isUntold = ({ endedBy, failedAttempts }: ServedEntry): boolean =>
  endedBy === 'gateway' && failedAttempts.length === 0

const most = (hold: UsdNanos | null, cost: UsdNanos): UsdNanos =>
  hold !== null && hold > cost ? hold : cost

function doubtOf({ endedBy, cost, hold }: ServedEntry): DoubtReason {
  if (hold !== null && cost > hold) return 'beyond_hold'
  if (endedBy === 'client') return 'hung_up'
  return endedBy === 'completed' ? 'estimated' : 'broke_off'
}

const linesOf = (
  usage: ServedEntry['usage'],
  version: PriceVersion | null,
  image: ServedEntry['image'],
  modifiers: readonly string[],
): readonly Line[] =>
  version === null ? countsOf(usage) : chargeLines(usage, version, image ?? ANY_IMAGE, modifiers)

type Line = Pick<ChargeLine, 'name' | 'tool' | 'count' | 'amount' | 'unitPrice'>

/** Of what was free, and has no entry in the ledger that would name its price. */
const countsOf = (usage: ServedEntry['usage']): readonly Line[] => {
  const free = { amount: FREE, unitPrice: FREE }
  const counts: readonly (readonly [string, number])[] = [
    ['input_tokens', usage.inputTokens],
    ['cache_read_tokens', usage.cacheReadTokens],
    ['cache_write_tokens', usage.cacheWriteTokens],
    ['cache_write_1h_tokens', usage.cacheWrite1hTokens],
    ['image_input_tokens', usage.imageInputTokens],
    ['output_tokens', usage.outputTokens],
    ['image_output_tokens', usage.imageOutputTokens],
    ['input_images', usage.inputImages],
    ['output_images', usage.outputImages],
    ['search_units', usage.searchUnits],
  ]
  const calls = Object.entries(usage.serverCalls ?? {}).map(([tool, count]) => ({
    ...free,
    name: SERVER_TOOL_CALLS,
    tool,
    count,
  }))
  return [
    ...counts.flatMap(([name, count]) => (count > 0 ? [{ ...free, name, count }] : [])),
    ...calls,
  ]
}

function cellOf({ cells }: ServedDay, name: string, price: UsdAttos): ServedCell {
  let cell = cells.get(name)
  if (cell === undefined) {
    cell = { exact: noSum(), edge: noSum(), doubted: {}, leastPrice: price, mostPrice: price }
    cells.set(name, cell)
  }
  if (price < cell.leastPrice) cell.leastPrice = price
  if (price > cell.mostPrice) cell.mostPrice = price
  return cell
}

/** What nobody counted may be of any class. */
function widenPrices(served: ServedDay, { version, image, modifiers }: ServedEntry): void {
  if (version === null) return
  const named = version.prices.modifiers.filter(({ name }) => modifiers.includes(name))
  for (const { name } of PRICE_CLASSES) {
    for (const price of unitPricesOf(name, version, image ?? ANY_IMAGE, named)) {
      cellOf(served, name, price)
    }
  }
}

function doubtedIn({ doubted }: ServedCell, reason: DoubtReason): Sum {
  const sum = doubted[reason] ?? noSum()
  doubted[reason] = sum
  return sum
}

function addTo(sum: Sum, { count, amount }: Pick<Line, 'count' | 'amount'>): void {
  sum.requests++
  sum.units += count
  sum.amount = (sum.amount + amount) as UsdAttos
}

const MOST_EXAMPLES = 3

function withExample(known: readonly Example[], one: Example): readonly Example[] {
  const least = known.at(-1)
  if (known.length === MOST_EXAMPLES && least !== undefined && one.most <= least.most) return known
  return [...known, one]
    .toSorted((a, b) => (a.most < b.most ? 1 : a.most > b.most ? -1 : 0))
    .slice(0, MOST_EXAMPLES)
}
