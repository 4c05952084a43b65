/** The lists of the screens: their rows, filtered and sorted. */
import type {
  InFlightRecord,
  KeyRowRecord,
  LogRecord,
  ModelTrafficRecord,
  ProviderTrafficRecord,
  SnapshotRecord,
} from '#operator/snapshot/record.ts'
import { type Filterable, readFilter } from './filter.ts'
import { type ListView, placeOf, type Screen, type View } from './view.ts'

interface Sort<Row> {
  readonly name: string
  /** Numbers sort descending, text ascending; without it the order stays as received. */
  of?(row: Row): number | string
}

interface ListOf<Row> {
  rows(snapshot: SnapshotRecord, view: View): readonly Row[]
  idOf(row: Row): string
  filterable(row: Row): Filterable
  readonly sorts: readonly Sort<Row>[]
}

export const LIVE: ListOf<InFlightRecord> = {
  rows: ({ in_flight }) => in_flight.requests,
  idOf: ({ id }) => id,
  filterable: (row) => ({
    text: [row.id, row.request_id, row.key_name, row.model, row.provider, row.user, row.node],
    fields: {
      key: row.key_name,
      model: row.model,
      provider: row.provider,
      user: row.user,
      state: row.state,
      ms: row.elapsed_ms,
    },
  }),
  sorts: [
    { name: 'elapsed', of: ({ elapsed_ms }) => elapsed_ms },
    { name: 'cost', of: ({ cost_usd }) => Number(cost_usd) },
    { name: 'tokens', of: ({ completion_tokens }) => completion_tokens ?? 0 },
    { name: 'key', of: ({ key_name }) => key_name },
    { name: 'model', of: ({ model }) => model },
  ],
}

/** Whatever the filter; undefined once it has ended. */
export const findRunning = (
  { in_flight }: SnapshotRecord,
  id: string,
): InFlightRecord | undefined => in_flight.requests.find((one) => one.id === id)

/** Undefined too where later requests have displaced it. */
export const findEnded = ({ log, errors }: SnapshotRecord, id: string): LogRecord | undefined =>
  log.find((one) => one.id === id) ?? errors.find((one) => one.id === id)

/** Undefined once it is removed. */
export const providerOf = (
  { providers }: SnapshotRecord,
  name: string,
): ProviderTrafficRecord | undefined => providers.find((one) => one.name === name)

export const KEYS: ListOf<KeyRowRecord> = {
  rows: ({ keys }) => keys.rows,
  idOf: ({ id }) => id,
  filterable: (row) => ({
    text: [row.id, row.name, row.label],
    fields: { key: row.name, kind: row.kind, status: row.status, level: row.level },
  }),
  sorts: [
    { name: 'limit', of: ({ percent }) => percent ?? -1 },
    { name: 'spend', of: ({ spend_day }) => Number(spend_day.spent_usd) },
    { name: 'month', of: ({ spend_month }) => Number(spend_month.spent_usd) },
    { name: 'requests', of: ({ minute }) => minute.used ?? 0 },
    { name: 'name', of: ({ name }) => name },
  ],
}

export const MODELS: ListOf<ModelTrafficRecord> = {
  rows: ({ models }) => models,
  idOf: ({ model }) => model,
  filterable: (row) => ({
    text: [row.model, ...row.providers],
    fields: { model: row.model, provider: row.providers.join(' ') },
  }),
  sorts: [
    { name: 'spend', of: ({ spend_day_usd }) => Number(spend_day_usd) },
    { name: 'requests', of: ({ requests_per_minute }) => requests_per_minute },
    { name: 'p95', of: ({ p95_ms }) => p95_ms ?? -1 },
    { name: 'errors', of: ({ error_percent }) => error_percent ?? -1 },
    { name: 'model', of: ({ model }) => model },
  ],
}

export const LOG: ListOf<LogRecord> = {
  rows: ({ log, errors }, { errorsOnly }) => (errorsOnly ? errors : log),
  idOf: ({ id }) => id,
  filterable: (row) => ({
    text: [
      row.id,
      row.request_id,
      row.key_name,
      row.model,
      row.provider,
      row.user,
      row.code,
      row.node,
    ],
    fields: {
      key: row.key_name,
      model: row.model,
      provider: row.provider,
      user: row.user,
      status: row.status,
      code: row.code,
      ms: row.total_ms,
    },
  }),
  sorts: [
    { name: 'newest' },
    { name: 'slowest', of: ({ total_ms }) => total_ms },
    { name: 'cost', of: ({ cost_usd }) => Number(cost_usd) },
    { name: 'status', of: ({ status }) => status },
  ],
}

/** The rows that pass the filter, in their order. */
function arrange<Row>(
  list: ListOf<Row>,
  snapshot: SnapshotRecord,
  view: View,
  { filter, sort, isReversed }: ListView,
): readonly Row[] {
  const fits = readFilter(filter)
  const rows = list.rows(snapshot, view)
  const kept = filter === '' ? rows : rows.filter((row) => fits(list.filterable(row)))
  const of = list.sorts[sort]?.of
  const sorted = of ? kept.toSorted((a, b) => compare(of(a), of(b))) : kept
  return isReversed ? sorted.toReversed() : sorted
}

const compare = (a: number | string, b: number | string): number =>
  typeof a === 'string' || typeof b === 'string' ? String(a).localeCompare(String(b)) : b - a

/** What key handling needs to know of a screen's list. */
export interface Listed {
  readonly ids: readonly string[]
  readonly sorts: readonly string[]
  /** Number of rows before filtering. */
  readonly total: number
}

const NOTHING: Listed = { ids: [], sorts: [], total: 0 }

export function listed(snapshot: SnapshotRecord, view: View): Listed {
  switch (view.screen) {
    case 'live':
      return toListed(LIVE, snapshot, view)
    case 'keys':
      return toListed(KEYS, snapshot, view)
    case 'models':
      return toListed(MODELS, snapshot, view)
    case 'log':
      return toListed(LOG, snapshot, view)
    case 'spend':
    case 'trend':
      return NOTHING
  }
}

const toListed = <Row>(list: ListOf<Row>, snapshot: SnapshotRecord, view: View): Listed => ({
  ids: arrange(list, snapshot, view, view.lists[view.screen]).map(list.idOf),
  sorts: list.sorts.map(({ name }) => name),
  total: list.rows(snapshot, view).length,
})

/** The rows that fit on `height` lines with the cursor among them. */
export interface Window<Row> {
  readonly rows: readonly Row[]
  /** Index of the cursor in `rows`. */
  readonly place: number
  readonly all: readonly Row[]
  readonly selected: Row | undefined
}

export function windowOf<Row>(
  list: ListOf<Row>,
  snapshot: SnapshotRecord,
  view: View,
  screen: Screen,
  height: number,
): Window<Row> {
  const all = arrange(list, snapshot, view, view.lists[screen])
  const place = placeOf(view.lists[screen], all.map(list.idOf))
  const first = Math.max(0, Math.min(place - Math.floor(height / 2), all.length - height))
  return {
    rows: all.slice(first, first + Math.max(0, height)),
    place: place - first,
    all,
    selected: all[place],
  }
}
