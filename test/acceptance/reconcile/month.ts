/**
 * A month of requests with every ending, told twice: as the vendor counted them, and as the gateway has them in its books. The
 * vendor's side is made first, by arithmetic of its own; the books are what a gateway can know of it.
 */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { type Instant, instant } from '#domain/clock.ts'
import { generationsFrom } from '#domain/id.ts'
import { nanos } from '#test/support/appliance.ts'
import type { CliHarness } from '#test/support/cli-harness.ts'

const DAY_MS = 86_400_000

export const CLASSES = ['input', 'read', 'write', 'write1h', 'output'] as const
export type Class = (typeof CLASSES)[number]
export type Tokens = Record<Class, number>

/** Dollars per million tokens. */
export type PriceList = Readonly<Record<Class, string>>

export interface SimulatedModel {
  /** As applications name it, as the gateway asks for it, and as the bill calls it. */
  readonly id: string
  readonly upstream: string
  readonly billed: string
  /** The second holds from the middle of the month. */
  readonly prices: readonly PriceList[]
}

/** What the vendor counted of one request, or of one attempt. */
export interface Counted {
  readonly day: number
  readonly model: SimulatedModel
  readonly tokens: Tokens
  readonly searches: number
  /** In atto-dollars, exact. */
  readonly cost: Readonly<Record<Class | 'searches', bigint>>
}

export interface Month {
  readonly from: Instant
  readonly to: Instant
  readonly counted: readonly Counted[]
  /** How many requests ended how. */
  readonly endings: Readonly<Record<string, number>>
}

const SEARCH_PRICE = '10'

/** The last month that is over at `now`, of thirty days at most. */
function lastMonth(now: number): { readonly from: Instant; readonly to: Instant } {
  const date = new Date(now)
  const to = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return { from: instant(to - 30 * DAY_MS), to: instant(to) }
}

/** Small, fast, and the same every time. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const perToken = (usdPerMillion: string): bigint => nanos(usdPerMillion) * 1_000n

function costOf(
  tokens: Tokens,
  searches: number,
  prices: PriceList,
  isDearer: boolean,
): Counted['cost'] {
  const times = (amount: bigint): bigint => (isDearer ? (amount * 11n) / 10n : amount)
  const of = (one: Class): bigint => times(BigInt(tokens[one]) * perToken(prices[one]))
  return {
    input: of('input'),
    read: of('read'),
    write: of('write'),
    write1h: of('write1h'),
    output: of('output'),
    searches: times(BigInt(searches) * nanos(SEARCH_PRICE) * 1_000_000n),
  }
}

const sumOf = (cost: Counted['cost']): bigint =>
  Object.values(cost).reduce((sum, one) => sum + one, 0n)

const toNanos = (attos: bigint): number => Number((attos + 500_000_000n) / 1_000_000_000n)

interface Booked {
  readonly id: string
  readonly model: string
  readonly provider: string | null
  readonly admitted: boolean
  readonly endedBy: string
  readonly status: number
  readonly at: number
  readonly totalMs: number
  readonly tokens: Tokens
  readonly searches: number
  readonly isDearer: boolean
  readonly source: 'provider' | 'estimated' | null
  readonly costNanos: number
  readonly statedNanos: number | null
  readonly holdNanos: number | null
  readonly failed: readonly object[]
  readonly version: number | null
}

const NOTHING: Tokens = { input: 0, read: 0, write: 0, write1h: 0, output: 0 }

export interface SimulationOptions {
  readonly provider: string
  readonly models: readonly SimulatedModel[]
  readonly requests: number
  readonly seed: number
  /** Whether it sells an hour in the cache and searches, and states a cost with each answer. */
  readonly hasHours: boolean
  readonly hasSearches: boolean
  readonly statesCost: boolean
}

/** Writes the books of such a month into a directory that nobody serves, and answers what the vendor counted. */
export function simulateMonth(cli: CliHarness, options: SimulationOptions): Month {
  const { from, to } = lastMonth(Date.now())
  const random = chance(options.seed)
  const counted: Counted[] = []
  const endings: Record<string, number> = {}
  const books = openBooks(cli, options.models)
  for (let number = 0; number < options.requests; number++) {
    const request = draw(number, { from, to }, options, random)
    const { day, model, prices, isDearer } = request
    const [, name, end] = endingAt(random())
    const { row, billed, isRefunded } = end(request)
    if (billed !== null) {
      const searches = billed === request.tokens && row.source === 'provider' ? row.searches : 0
      const cost = costOf(billed, searches, prices, isDearer)
      counted.push({ day, model, tokens: billed, searches, cost })
    }
    endings[name] = (endings[name] ?? 0) + 1
    books.write(row)
    if (isRefunded) books.refund(row.id, row.at)
  }
  books.close()
  return { from, to, counted, endings }
}

/** A request as the vendor sees it, and what the gateway has of it if all goes well. */
interface Drawn {
  readonly random: () => number
  readonly model: SimulatedModel
  readonly prices: PriceList
  readonly isDearer: boolean
  readonly tokens: Tokens
  /** The day that the vendor counts it on. */
  readonly day: number
  readonly complete: Booked & { readonly holdNanos: number }
}

function draw(
  number: number,
  { from, to }: Pick<Month, 'from' | 'to'>,
  options: SimulationOptions,
  random: () => number,
): Drawn {
  const between = (least: number, most: number): number =>
    Math.floor(least + random() * (most - least + 1))
  const sometimes = (share: number, least: number, most: number): number =>
    random() < share ? between(least, most) : 0
  const model = options.models[between(0, options.models.length - 1)] as SimulatedModel
  // Some are around midnight on purpose.
  const at =
    random() < 0.02
      ? from + between(1, 30) * DAY_MS - between(1, 20_000)
      : Math.floor(from + random() * (to - from))
  const totalMs = between(300, 45_000)
  const version = at >= from + 15.5 * DAY_MS ? model.prices.length - 1 : 0
  const prices = model.prices[version] as PriceList
  const isDearer = random() < 0.01
  const tokens: Tokens = {
    input: between(20, 6_000),
    read: sometimes(0.4, 1_024, 30_000),
    write: sometimes(0.2, 1_024, 8_000),
    write1h: options.hasHours ? sometimes(0.05, 1_024, 8_000) : 0,
    output: between(1, 2_500),
  }
  const searches = options.hasSearches ? sometimes(0.02, 1, 4) : 0
  const costNanos = toNanos(sumOf(costOf(tokens, searches, prices, isDearer)))
  const day = Math.floor((random() < 0.5 ? at : at + totalMs) / DAY_MS)
  const id = number
    .toString(32)
    .replace(/[ilou]/g, 'x')
    .padStart(16, '0')
  const complete = {
    id: `${generationsFrom(instant(at))}${id}`,
    model: model.id,
    provider: options.provider,
    admitted: true,
    endedBy: 'completed',
    status: 200,
    at,
    totalMs,
    tokens,
    searches,
    isDearer,
    source: 'provider' as const,
    costNanos,
    statedNanos: options.statesCost ? costNanos : null,
    holdNanos: toNanos(holdOf(tokens, prices)),
    failed: [],
    version,
  }
  return { random, model, prices, isDearer, tokens, day, complete }
}

const promptOf = ({ input, read, write, write1h }: Tokens): number => input + read + write + write1h

/** The most that it can cost: a prompt by its bytes, 8,192 tokens of an answer, and ten searches. */
const holdOf = (tokens: Tokens, prices: PriceList): bigint =>
  BigInt(promptOf(tokens)) * 2n * perToken(prices.write1h) +
  8_192n * perToken(prices.output) +
  10n * nanos(SEARCH_PRICE) * 1_000_000n

interface Ended {
  readonly row: Booked
  /** What the vendor counts of it. */
  readonly billed: Tokens | null
  readonly isRefunded?: boolean
}

/** By estimate: the prompt as one class, and some of the answer. */
function roughly({ random, tokens, prices, isDearer, complete }: Drawn, endedBy: string): Booked {
  const guess = {
    ...NOTHING,
    input: Math.max(1, Math.floor(promptOf(tokens) * (0.8 + random() * 0.5))),
    output: Math.floor(tokens.output * (0.1 + random())),
  }
  const costNanos = toNanos(sumOf(costOf(guess, 0, prices, isDearer)))
  const row = { ...complete, endedBy, tokens: guess, searches: 0, costNanos, statedNanos: null }
  return { ...row, source: 'estimated' }
}

/** Nothing was delivered, and nothing charged. */
const uncharged = ({ complete }: Drawn, endedBy: string): Booked => ({
  ...complete,
  endedBy,
  status: 500,
  tokens: NOTHING,
  searches: 0,
  source: null,
  costNanos: 0,
  statedNanos: null,
  version: null,
})

const attempt = ({ model, complete }: Drawn, status: number | null): object => ({
  model: model.id,
  provider: complete.provider,
  outcome: status === null ? 'timeout' : 'failed',
  status,
  reason: 'it failed',
  ms: 100,
  operatorCost: 0,
})

/** Another provider has answered. */
const elsewhere = (drawn: Drawn, status: number | null): Booked => ({
  ...drawn.complete,
  provider: 'elsewhere',
  statedNanos: null,
  failed: [attempt(drawn, status)],
})

/** The prompt was read, and a part of the answer written. */
const partly = ({ random, tokens }: Drawn): Tokens => ({
  ...tokens,
  output: Math.floor(tokens.output * random()),
})

const perhaps = (drawn: Drawn, share: number): Tokens | null =>
  drawn.random() < share ? partly(drawn) : null

type Ending = readonly [share: number, name: string, end: (drawn: Drawn) => Ended]

const ENDINGS: readonly Ending[] = [
  [0.82, 'complete', ({ complete, tokens }) => ({ row: complete, billed: tokens })],
  [0.04, 'hung_up', (one) => ({ row: roughly(one, 'client'), billed: partly(one) })],
  [0.01, 'estimated', (one) => ({ row: roughly(one, 'completed'), billed: one.tokens })],
  [
    0.01,
    'broke_off',
    (one) => ({
      row: { ...roughly(one, 'upstream'), failed: [attempt(one, null)] },
      billed: partly(one),
    }),
  ],
  [
    0.03,
    'retried',
    (one) => ({ row: { ...one.complete, failed: [attempt(one, 503)] }, billed: one.tokens }),
  ],
  [0.02, 'fallback_refused', (one) => ({ row: elsewhere(one, 429), billed: null })],
  [0.015, 'fallback_timeout', (one) => ({ row: elsewhere(one, null), billed: perhaps(one, 0.5) })],
  [
    0.01,
    'failed',
    (one) => ({
      row: { ...uncharged(one, 'upstream'), failed: [attempt(one, null)] },
      billed: perhaps(one, 0.3),
    }),
  ],
  [
    0.005,
    'beyond_hold',
    ({ complete, tokens }) => ({
      row: { ...complete, holdNanos: Math.floor(complete.costNanos / 2) },
      billed: tokens,
    }),
  ],
  [
    0.005,
    'beyond_hold_cut',
    // It was ended at twice its hold, and the vendor went on for a while.
    (one) => {
      const row = roughly(one, 'gateway')
      const billed = { ...row.tokens, output: Math.floor(row.tokens.output * 1.5) }
      return { row: { ...row, holdNanos: Math.floor(row.costNanos / 2) }, billed }
    },
  ],
  [
    0.01,
    'refunded',
    ({ complete, tokens }) => ({ row: complete, billed: tokens, isRefunded: true }),
  ],
  [
    0.005,
    'killed',
    (one) => ({ row: { ...uncharged(one, 'gateway'), provider: null }, billed: perhaps(one, 0.5) }),
  ],
  [
    0.02,
    'refused',
    (one) => ({
      row: { ...uncharged(one, 'refused'), admitted: false, provider: null, holdNanos: null },
      billed: null,
    }),
  ],
]

function endingAt(place: number): Ending {
  let left = place
  const found = ENDINGS.find(([share]) => {
    left -= share
    return left < 0
  })
  return found ?? (ENDINGS[0] as Ending)
}

function openBooks(cli: CliHarness, models: readonly SimulatedModel[]) {
  const database = new Database(join(cli.dataDir, 'gateway.db'), { strict: true })
  const one = <T>(sql: string, ...values: string[]): T =>
    database.query<T, string[]>(sql).get(...values) as T
  const account = one<{ id: string }>('SELECT id FROM accounts').id
  const key = one<{ id: string }>('SELECT id FROM keys').id
  const versions = new Map(
    models.map(({ id }) => [
      id,
      database
        .query<{ id: string }, [string]>(
          'SELECT id FROM price_versions WHERE model_id = ? ORDER BY id',
        )
        .all(id)
        .map((version) => version.id),
    ]),
  )
  const insert = database.prepare(
    `INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, provider, stream, status, ended_by,
       started_at, admitted_at, total_ms, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens,
       output_tokens, reasoning_tokens, image_output_tokens, input_images, output_images, search_units, usage_source,
       cost_nanos, cost_rub_micros, failed_attempts, operator_cost_nanos, stated_cost_nanos, hold_nanos, server_calls,
       modifiers)
     VALUES (?, ?, '${account}', '${key}', ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, ?, 0, ?, 0, ?, ?, ?, ?)`,
  )
  const charge = database.prepare(
    `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, price_version, day)
     VALUES (?, '${account}', 'charge', ?, ?, '${key}', ?, '90', ?, ?)`,
  )
  const refund = database.prepare(
    `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, rub_per_usd, note)
     VALUES (?, '${account}', 'refund', 1000000, ?, '90', 'sorry')`,
  )
  database.run('BEGIN')
  return {
    write(row: Booked): void {
      const { tokens, searches } = row
      insert.run(
        row.id,
        `req_${row.id}`,
        row.admitted ? 1 : 0,
        row.model,
        row.provider,
        row.status,
        row.endedBy,
        row.at,
        row.at,
        row.totalMs,
        tokens.input,
        tokens.read,
        tokens.write,
        tokens.write1h,
        tokens.output,
        row.source,
        row.costNanos,
        row.failed.length === 0 ? null : JSON.stringify(row.failed),
        row.statedNanos,
        row.holdNanos,
        searches > 0 ? JSON.stringify({ web_search: searches }) : null,
        row.isDearer && row.source !== null ? '["inference_geo=us"]' : null,
      )
      if (row.source === null || row.version === null) return
      const version = versions.get(row.model)?.[row.version] ?? null
      charge.run(
        `led_${row.id.slice(4)}`,
        -row.costNanos,
        row.at,
        row.id,
        version,
        Math.floor(row.at / DAY_MS),
      )
    },
    refund: (id: string, at: number): void => void refund.run(`led_${id.slice(4)}r`, at),
    close(): void {
      database.run('COMMIT')
      database.close()
    },
  }
}
