/** The tally: counters since the start; each request is added once, when it ends. */
import type { ActivityEntry, FailedAttempt } from '#domain/activity.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Channel, DeliveryTry } from '#domain/notice.ts'
import { completionTokens, NO_USAGE, promptTokens, type Usage } from '#domain/usage.ts'
import type { Dialect } from '#domain/work.ts'
import { type Histogram, MILLISECONDS, observe, startHistogram, TOKENS } from './histogram.ts'

/** The counters of all requests with the same labels. */
type Counts = Omit<Usage, 'serverCalls'>

export interface RequestRow {
  /** The key's id, or `other` beyond `MAX_ROWS`. */
  readonly key: string
  /** The model that served; empty for a refusal, because a refused request may name any model. */
  readonly model: string
  readonly provider: string
  readonly status: number
  readonly code: string
  /** The field name of the limit that refused it; empty otherwise. */
  readonly limit: string
  readonly stream: boolean
  readonly surface: Dialect
  readonly served: ServedModel
  requests: number
  cost: UsdNanos
  readonly usage: { -readonly [Class in keyof Counts]: number }
}

/** Durations and token counts of one model at one provider; refusals have empty names. */
export interface ServedModel {
  readonly model: string
  readonly provider: string
  /** Milliseconds. */
  readonly total: Histogram
  /** Milliseconds. */
  readonly firstToken: Histogram
  /** Tokens a request. */
  readonly input: Histogram
  /** Tokens a request. */
  readonly output: Histogram
}

export interface CountedFailure {
  readonly provider: string
  readonly outcome: string
  /** The provider's status; null without an answer. */
  readonly status: number | null
  count: number
}

export interface Tally {
  readonly rows: Iterable<RequestRow>
  readonly servedModels: Iterable<ServedModel>
  readonly failures: Iterable<CountedFailure>
  /** By route, then by status. */
  readonly responses: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** By channel, then by outcome. */
  readonly tries: ReadonlyMap<Channel, ReadonlyMap<string, number>>
  /** Events of signing in, by application (none: empty), then by outcome. */
  readonly signins: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** A request of any surface ended, or was refused. */
  ended(entry: ActivityEntry): void
  /** Any HTTP request was answered, also one without a key. */
  answered(route: string, status: number): void
  /** Delivery of a notice was attempted. */
  tried(channel: Channel, attempt: DeliveryTry): void
  /** Somebody signed in to an application, or was refused. */
  signedIn(client: string, outcome: string): void
}

/** Limits the size of a scrape; later keys are counted together. */
const MAX_ROWS = 10_000

export const OTHER_KEYS = 'other'

const { serverCalls: _serverCalls, ...NO_COUNTS } = NO_USAGE

export function startTally(): Tally {
  const rows: RequestRow[] = []
  const rowsOfKey = new Map<string, RequestRow[]>()
  const servedModels = new Map<string, ServedModel>()
  const failures = new Map<string, CountedFailure>()
  const responses = new Map<string, Map<number, number>>()
  const tries = new Map<Channel, Map<string, number>>()
  const signins = new Map<string, Map<string, number>>()

  const servedBy = (model: string, provider: string): ServedModel =>
    findOrMake(servedModels, `${model} ${provider}`, () => ({
      model,
      provider,
      total: startHistogram(MILLISECONDS),
      firstToken: startHistogram(MILLISECONDS),
      input: startHistogram(TOKENS),
      output: startHistogram(TOKENS),
    }))

  const rowOf = (entry: ActivityEntry): RequestRow => {
    const own = rowsOfKey.get(entry.keyId)
    const row = own && findRow(own, entry)
    if (row) return row
    const key = rows.length >= MAX_ROWS ? OTHER_KEYS : entry.keyId
    const siblings = findOrMake(rowsOfKey, key, (): RequestRow[] => [])
    const known = findRow(siblings, entry)
    if (known) return known
    const made = startRow(entry, key, servedBy)
    rows.push(made)
    siblings.push(made)
    return made
  }

  return {
    rows,
    servedModels: { [Symbol.iterator]: () => servedModels.values() },
    failures: { [Symbol.iterator]: () => failures.values() },
    responses,
    tries,
    signins,
    ended(entry) {
      add(rowOf(entry), entry)
      for (const failed of entry.failedAttempts) countFailure(failures, failed)
    },
    answered(route, status) {
      countIn(findOrMake(responses, route, newCounts<number>), status)
    },
    tried(channel, { failure }) {
      countIn(findOrMake(tries, channel, newCounts<string>), failure ?? 'delivered')
    },
    signedIn(client, outcome) {
      countIn(findOrMake(signins, client, newCounts<string>), outcome)
    },
  }
}

const newCounts = <Key>(): Map<Key, number> => new Map()

const countIn = <Key>(counts: Map<Key, number>, key: Key): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function findOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

const isRefused = ({ endedBy }: ActivityEntry): boolean => endedBy === 'refused'

const limitOf = ({ refusal }: ActivityEntry): string => String(refusal?.metadata?.['limit'] ?? '')

/** A linear search is enough, because a key has few rows; a found row moves one place forward, as it is likely to be used again. */
function findRow(rows: RequestRow[], entry: ActivityEntry): RequestRow | undefined {
  const refused = isRefused(entry)
  const model = refused ? '' : entry.model
  const provider = refused ? '' : (entry.provider ?? '')
  const code = entry.code ?? ''
  const limit = refused ? limitOf(entry) : ''
  for (let n = 0; n < rows.length; n++) {
    const row = rows[n]
    if (
      row === undefined ||
      row.model !== model ||
      row.status !== entry.status ||
      row.stream !== entry.stream ||
      row.surface !== entry.surface ||
      row.code !== code ||
      row.provider !== provider ||
      row.limit !== limit
    )
      continue
    const before = rows[n - 1]
    if (before !== undefined) {
      rows[n - 1] = row
      rows[n] = before
    }
    return row
  }
  return undefined
}

function startRow(
  entry: ActivityEntry,
  key: string,
  servedBy: (model: string, provider: string) => ServedModel,
): RequestRow {
  const model = isRefused(entry) ? '' : entry.model
  const provider = isRefused(entry) ? '' : (entry.provider ?? '')
  return {
    key,
    model,
    provider,
    status: entry.status,
    code: entry.code ?? '',
    limit: isRefused(entry) ? limitOf(entry) : '',
    stream: entry.stream,
    surface: entry.surface,
    served: servedBy(model, provider),
    requests: 0,
    cost: NO_MONEY,
    usage: { ...NO_COUNTS },
  }
}

function add(row: RequestRow, { cost, usage, totalMs, firstEventMs }: ActivityEntry): void {
  row.requests++
  observe(row.served.total, totalMs)
  if (firstEventMs !== null) observe(row.served.firstToken, firstEventMs)
  if (cost === NO_MONEY && usage === NO_USAGE) return
  observe(row.served.input, promptTokens(usage))
  observe(row.served.output, completionTokens(usage))
  row.cost = addUsd(row.cost, cost)
  const sum = row.usage
  sum.inputTokens += usage.inputTokens
  sum.cacheReadTokens += usage.cacheReadTokens
  sum.cacheWriteTokens += usage.cacheWriteTokens
  sum.cacheWrite1hTokens += usage.cacheWrite1hTokens
  sum.imageInputTokens += usage.imageInputTokens
  sum.outputTokens += usage.outputTokens
  sum.reasoningTokens += usage.reasoningTokens
  sum.imageOutputTokens += usage.imageOutputTokens
  sum.inputImages += usage.inputImages
  sum.outputImages += usage.outputImages
  sum.searchUnits += usage.searchUnits
}

function countFailure(
  failures: Map<string, CountedFailure>,
  { provider, outcome, status }: FailedAttempt,
): void {
  const name = `${provider} ${outcome} ${status}`
  findOrMake(failures, name, () => ({ provider, outcome, status, count: 0 })).count++
}
