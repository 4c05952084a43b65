/** The keys of an account with the usage of each limit, those nearest to a limit first. */
import type { Account } from '#domain/account.ts'
import type { KeySpending } from '#domain/admission.ts'
import { renderInstant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { type ApiKey, keyStatus } from '#domain/key.ts'
import { withUse } from '#domain/key-report.ts'
import { renderLimitsOfEach } from '#domain/limits.ts'
import { addUsd, NO_MONEY, renderUsd, type UsdNanos } from '#domain/money.ts'
import { type Span, sharesOf, toFigures } from '#domain/snapshot/figures.ts'
import type { Ended } from '#domain/snapshot/pulse.ts'
import type { WindowReadings } from '#domain/window.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import type { OperatorDeps } from '../deps.ts'
import { accountWarnings, keyWarnings } from '../limit-warnings.ts'
import { readGauges } from './gauges.ts'
import type { Caps } from './money.ts'
import type { KeyRowRecord, KeysRecord, KeyTrafficRecord, Level } from './record.ts'
import { integerOrNull, tenthsOrNull } from './traffic.ts'

/** Of more keys only the newest and the recently used ones are read. */
export const MAX_KEYS = 1_000
const MAX_KEY_ROWS = 200

interface KeysReading {
  readonly keys: KeysRecord
  readonly caps: Caps
}

/** `span` is the last hour. Yields to requests every few keys, because unused keys are read from disk. */
export async function readKeys(
  deps: OperatorDeps,
  account: Account,
  span: Span,
): Promise<KeysReading> {
  const { store, clock } = deps
  const page = await store.keys.list({
    accountId: account.id,
    includeRevoked: false,
    limit: MAX_KEYS,
  })
  const ended = Map.groupBy(span.endings, ({ keyId }) => keyId)
  const keys = await withRecentlyUsed(deps, account, page.keys, ended)
  const rows: KeyRowRecord[] = []
  const warnings = [...(await accountWarnings(deps, account))]
  for (let first = 0; first < keys.length; first += KEYS_PER_TURN) {
    if (first > 0) await idleTurn()
    const now = clock.now()
    const turn = keys.slice(first, first + KEYS_PER_TURN)
    for (const [key, spending, windows] of await withUse(store.admissions, turn, now)) {
      const row = readRow(key, spending, windows, ended.get(key.id) ?? [], { ...span, now })
      rows.push(row)
      warnings.push(...keyWarnings(key, account, spending, row, now))
    }
  }
  const since = clock.now() - ACTIVE_MS
  const active = rows.filter(({ id, concurrency }) => {
    const [newest] = ended.get(id as KeyId) ?? []
    return (concurrency.used ?? 0) > 0 || (newest !== undefined && newest.endedAt > since)
  })
  return {
    caps: page.hasMore ? { day: null, month: null } : capsOf(keys),
    keys: {
      total: page.totalCount,
      active: active.length,
      rows: rows.toSorted(byNearestLimit).slice(0, MAX_KEY_ROWS),
      warnings: warnings.toSorted((a, b) => b.level - a.level),
    },
  }
}

const ACTIVE_MS = 300_000
const KEYS_PER_TURN = 20

/** Adds recently used keys that are not among the newest. */
async function withRecentlyUsed(
  { store }: OperatorDeps,
  { id }: Account,
  keys: readonly ApiKey[],
  ended: ReadonlyMap<KeyId, readonly Ended[]>,
): Promise<readonly ApiKey[]> {
  const known = new Set(keys.map((key) => key.id))
  const missing = [...ended.keys()].filter((keyId) => !known.has(keyId)).slice(0, MAX_KEY_ROWS)
  const found = await store.keys.findMany(missing)
  return [...keys, ...found.filter((key) => key.accountId === id && key.revokedAt === null)]
}

function capsOf(keys: readonly ApiKey[]): Caps {
  const sum = (field: 'dailySpend' | 'monthlySpend'): UsdNanos | null => {
    let total = NO_MONEY
    for (const { limits } of keys) {
      const ceiling = limits[field]
      if (ceiling === null) return null
      total = addUsd(total, ceiling)
    }
    return keys.length === 0 ? null : total
  }
  return { day: sum('dailySpend'), month: sum('monthlySpend') }
}

/** By percent of the fullest limit, then by today's spend, then by name. */
const byNearestLimit = (a: KeyRowRecord, b: KeyRowRecord): number =>
  (b.percent ?? -1) - (a.percent ?? -1) ||
  Number(b.spend_day.spent_usd) - Number(a.spend_day.spent_usd) ||
  a.name.localeCompare(b.name)

function readRow(
  key: ApiKey,
  spending: KeySpending,
  windows: WindowReadings,
  ended: readonly Ended[],
  span: Span,
): KeyRowRecord {
  const { now } = span
  const figures = toFigures(ended, span)
  const gauges = readGauges(key.limits, { ...spending, ...windows }, figures.lastMinute, now)
  const percents = Object.values(gauges).flatMap(({ percent }) => percent ?? [])
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    kind: key.kind,
    status: keyStatus(key, now),
    created_at: renderInstant(key.createdAt),
    last_used_at: renderInstant(key.lastUsedAt),
    allowed_models: key.limits.allowedModels,
    ...renderLimitsOfEach(key.limits),
    ...gauges,
    level: worst(Object.values(gauges).map(({ level }) => level)),
    percent: percents.length === 0 ? null : Math.max(...percents),
    lately: ended.length === 0 ? null : toTraffic(ended, span),
  }
}

const worst = (levels: readonly Level[]): Level =>
  levels.includes('full') ? 'full' : levels.includes('near') ? 'near' : 'ok'

const CURVE_POINTS = 20
const CURVE_POINT_MS = 15_000
const MAX_SHARES = 3

function toTraffic(ended: readonly Ended[], span: Span): KeyTrafficRecord {
  const { now, ms } = span
  const figures = toFigures(ended, span)
  const curve = Array.from({ length: CURVE_POINTS }, () => 0)
  for (const { endedAt } of ended) {
    const point = CURVE_POINTS - 1 - Math.floor((now - endedAt) / CURVE_POINT_MS)
    if (point >= 0 && point < CURVE_POINTS) curve[point] = (curve[point] ?? 0) + 1
  }
  return {
    seconds: Math.round(ms / 1000),
    ok: figures.ok,
    failed: figures.failed,
    p95_ms: integerOrNull(figures.totalMs.p95),
    cached_percent: tenthsOrNull(figures.cachedPercent),
    models: sharesOf(ended, ({ model }) => model, MAX_SHARES).map(({ name, percent }) => ({
      name,
      percent: tenthsOrNull(percent),
    })),
    users: sharesOf(ended, ({ endUser }) => endUser, MAX_SHARES).map(({ name, costNanos }) => ({
      name,
      cost_usd: renderUsd(BigInt(costNanos) as UsdNanos),
    })),
    curve,
  }
}
