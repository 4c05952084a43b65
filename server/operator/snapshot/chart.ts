/** The dashboard's chart: spend, requests or tokens of the last days or hours by group, and the latest ledger entries. */
import * as z from 'zod/mini'
import {
  DAY_MS,
  type Day,
  dayOf,
  dayStart,
  HOUR_MS,
  type Instant,
  instant,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { renderUsd } from '#domain/money.ts'
import {
  addSums,
  MAX_USAGE_GROUPS,
  NO_SUM,
  type UsageRow,
  type UsageSum,
} from '#domain/usage-report.ts'
import { accountField } from '#forms/fields.ts'
import type { OperatorDeps } from '../deps.ts'
import { findAccount } from '../find-account.ts'
import { type EntryRecord, renderEntry } from '../ledger.ts'
import { verb } from '../verb.ts'

export interface ChartPoint {
  readonly spend_usd: string
  readonly requests: number
  readonly tokens: number
}

export interface ChartGroup {
  /** Null for requests without end user, or without provider. */
  readonly name: string | null
  readonly total: ChartPoint
  /** One per label. */
  readonly points: readonly ChartPoint[]
}

export interface ChartRecord {
  readonly by: string
  readonly bucket: 'day' | 'hour'
  readonly metric: 'spend' | 'requests' | 'tokens'
  /** "2026-08-23", or the start of an hour; UTC, oldest first. */
  readonly labels: readonly string[]
  /** The largest, by the metric. */
  readonly groups: readonly ChartGroup[]
  /** All others together; null where there are none. */
  readonly other: (ChartGroup & { readonly groups: number }) | null
  readonly total: ChartGroup
  /** Newest first. */
  readonly ledger: readonly EntryRecord[]
}

const DAYS = 14
const HOURS = 24
const MAX_GROUPS = 8
const LEDGER_LINES = 10

/** Scans the log of that time without blocking requests. @throws account_not_found, store_unavailable */
export const readChart = verb(
  z.strictObject({
    account: accountField,
    by: z._default(z.enum(['key', 'user', 'model', 'provider']), 'key'),
    bucket: z._default(z.enum(['day', 'hour']), 'day'),
    metric: z._default(z.enum(['spend', 'requests', 'tokens']), 'spend'),
  }),
  async (deps, { account: name, by, bucket, metric }): Promise<ChartRecord> => {
    const { store, clock } = deps
    const account = await findAccount(deps, name)
    const times = timesOf(bucket, clock.now())
    const { rows } = await store.activity.usage({
      by: bucket,
      thenBy: by,
      accountId: account.id,
      since: times.since,
      top: MAX_USAGE_GROUPS,
    })
    const named = Map.groupBy(rows, ({ thenBy }) => String(thenBy ?? ''))
    const groups = [...named]
      .map(([group, own]) => ({ group, own, size: sizeOf(own, metric) }))
      .toSorted((a, b) => (a.size === b.size ? 0 : a.size < b.size ? 1 : -1))
    const others = groups.slice(MAX_GROUPS)
    const draw = (name: string | null, own: readonly UsageRow[]): ChartGroup =>
      toGroup(name, own, times.starts)
    return {
      by,
      bucket,
      metric,
      labels: times.labels,
      groups: await Promise.all(
        groups
          .slice(0, MAX_GROUPS)
          .map(async ({ group, own }) => draw(await nameOf(deps, by, group), own)),
      ),
      other:
        others.length === 0
          ? null
          : {
              ...draw(
                null,
                others.flatMap(({ own }) => own),
              ),
              groups: others.length,
            },
      total: draw(null, rows),
      ledger: (await store.ledger.list({ accountId: account.id, limit: LEDGER_LINES })).map(
        (entry) => renderEntry(entry, account.name),
      ),
    }
  },
)

/** The start of each bucket, as usage reports have it, and its label. */
function timesOf(bucket: 'day' | 'hour', now: Instant) {
  if (bucket === 'day') {
    const first = dayOf(now) - DAYS + 1
    const starts = Array.from({ length: DAYS }, (_, i) => first + i)
    return {
      since: dayStart(first as Day),
      starts,
      labels: starts.map((day) => renderDay(day as Day)),
    }
  }
  const first = Math.floor(now / HOUR_MS) * HOUR_MS - DAY_MS + HOUR_MS
  const starts = Array.from({ length: HOURS }, (_, i) => first + i * HOUR_MS)
  return {
    since: instant(first),
    starts,
    labels: starts.map((start) => renderInstant(instant(start))),
  }
}

const tokensOf = ({ promptTokens, completionTokens }: UsageSum): number =>
  promptTokens + completionTokens

function sizeOf(rows: readonly UsageRow[], metric: ChartRecord['metric']): bigint {
  const sum = rows.reduce<UsageSum>(addSums, NO_SUM)
  if (metric === 'spend') return sum.cost
  return BigInt(metric === 'requests' ? sum.requests : tokensOf(sum))
}

function toGroup(
  name: string | null,
  rows: readonly UsageRow[],
  starts: readonly number[],
): ChartGroup {
  const at = Map.groupBy(rows, ({ by }) => Number(by))
  const point = (some: readonly UsageRow[]): ChartPoint => {
    const sum = some.reduce<UsageSum>(addSums, NO_SUM)
    return { spend_usd: renderUsd(sum.cost), requests: sum.requests, tokens: tokensOf(sum) }
  }
  return { name, total: point(rows), points: starts.map((start) => point(at.get(start) ?? [])) }
}

async function nameOf({ store }: OperatorDeps, by: string, group: string): Promise<string | null> {
  if (group === '') return null
  return by === 'key' ? ((await store.keys.find(group as KeyId))?.name ?? group) : group
}
