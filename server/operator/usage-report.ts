/** The usage report: requests, tokens and cost by group, with each group's share. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { type Day, instant, renderDay, renderInstant } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { renderRub, renderUsd, type UsdNanos } from '#domain/money.ts'
import { statedIn } from '#domain/stated.ts'
import {
  MAX_USAGE_GROUPS,
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageGroup,
  type UsageQuery,
  type UsageReport,
  type UsageRow,
  type UsageSum,
} from '#domain/usage-report.ts'
import { orNull, scopeField, timeField } from '#forms/fields.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { makerOf } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findScope } from './find-account.ts'
import { keptSince } from './kept-since.ts'
import { invalidInput, verb } from './verb.ts'

export interface UsageSumRecord {
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly images: number
  readonly cost_usd: string
  readonly cost_rub: number
  /** Of the total cost, in percent with two decimal places; null when the total is zero. */
  readonly share_percent: number | null
}

/** Only the requested dimensions are present. */
export interface UsageGroupRecord {
  readonly account_id?: string
  /** The name of the account; also of a key. */
  readonly account?: string
  readonly key_id?: string
  readonly key_name?: string
  readonly user?: string | null
  readonly model?: string
  readonly provider?: string | null
  readonly surface?: string
  /** "2026-08-23", UTC. */
  readonly day?: string
  /** The start of the hour. */
  readonly hour?: string
}

export interface UsageReportRecord {
  readonly by: UsageDimension
  readonly then_by: UsageDimension | null
  /** The name of the only account that is included; null: all are. */
  readonly account: string | null
  readonly since: string | null
  readonly until: string | null
  /** Requests that ended before were removed from the log and are not included; null when none is missing. */
  readonly kept_since: string | null
  /** The most expensive first; days and hours in chronological order. */
  readonly rows: readonly (UsageGroupRecord & UsageSumRecord)[]
  /** The sum of the groups without a row. */
  readonly other: UsageSumRecord & { readonly groups: number }
  readonly total: UsageSumRecord
}

const MAX_AMONG = 100
const dimensionField = z.enum(USAGE_DIMENSIONS)

/** Of all accounts unless one is named. @throws account_not_found, invalid_request, store_unavailable */
export const reportUsage = verb(
  z.strictObject({
    by: z._default(dimensionField, 'key'),
    then_by: orNull(dimensionField),
    /** Only these groups of `then_by`: ids of keys, names of models. */
    among: z.optional(z.array(z.nullable(z.string())).check(z.maxLength(MAX_AMONG))),
    account: scopeField,
    since: orNull(timeField),
    until: orNull(timeField),
    /** The number of groups with a row. */
    top: z._default(z.int().check(z.minimum(1), z.maximum(MAX_USAGE_GROUPS)), MAX_USAGE_GROUPS),
  }),
  async (deps, input): Promise<UsageReportRecord> => {
    const { by, among, account, since, until, top } = input
    if (by === input.then_by) throw invalidInput('then_by', `must be another dimension than ${by}`)
    const within = await findScope(deps, account)
    const thenBy = input.then_by ?? (await ownersOf(deps, by, within))
    const madeBy = makerOf(deps.actor)
    const filter = statedIn({ among, accountId: within?.id, madeBy, since, until })
    const query: UsageQuery = { by, thenBy, top, ...filter }
    const report = await deps.store.activity.usage(query)
    return {
      by,
      then_by: thenBy,
      account: within?.name ?? null,
      since: renderInstant(since),
      until: renderInstant(until),
      // Read after the report, so that entries removed meanwhile are covered.
      kept_since: await keptSince(deps, since),
      ...(await renderGroups(deps, query, report)),
    }
  },
)

/** An end user is of one account: another's of the same name is somebody else. */
const ownersOf = async (
  { store }: OperatorDeps,
  by: UsageDimension,
  within: Account | null,
): Promise<'account' | null> =>
  by === 'user' && within === null && (await store.accounts.list()).length > 1 ? 'account' : null

export async function renderGroups(
  deps: OperatorDeps,
  { by, thenBy }: Pick<UsageQuery, 'by' | 'thenBy'>,
  report: UsageReport,
) {
  const { total, other, others } = report
  const names = await namesOf(deps, { by, thenBy }, report.rows)
  const rows = inOrder(report.rows, by, thenBy).map((row) => ({
    ...renderGroup(by, row.by, names),
    ...(thenBy !== null && renderGroup(thenBy, row.thenBy, names)),
    ...renderSum(row, total.cost),
  }))
  return {
    rows,
    other: { groups: others, ...renderSum(other, total.cost) },
    total: renderSum(total, total.cost),
  }
}

const isTime = (dimension: UsageDimension | null): boolean =>
  dimension === 'day' || dimension === 'hour'

/** Chronological for time; groups split by time stay together, the most expensive group first. */
function inOrder(
  rows: readonly UsageRow[],
  by: UsageDimension,
  thenBy: UsageDimension | null,
): readonly UsageRow[] {
  if (isTime(by)) return rows.toSorted((a, b) => Number(a.by) - Number(b.by))
  if (!isTime(thenBy)) return rows
  const wholes = [...Map.groupBy(rows, (row) => row.by).values()]
  const cost = (some: readonly UsageRow[]) => some.reduce((sum, row) => sum + row.cost, 0n)
  return wholes
    .map((some) => ({ some, cost: cost(some) }))
    .toSorted((a, b) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1))
    .flatMap(({ some }) => some.toSorted((a, b) => Number(a.thenBy) - Number(b.thenBy)))
}

const KEYS_PER_TURN = 25

/** What a row shows for an id. */
type Names = ReadonlyMap<UsageGroup, UsageGroupRecord>

async function namesOf(
  deps: OperatorDeps,
  { by, thenBy }: Pick<UsageQuery, 'by' | 'thenBy'>,
  rows: readonly UsageRow[],
): Promise<Names> {
  const names = new Map<UsageGroup, UsageGroupRecord>()
  const idsOf = (dimension: UsageDimension): ReadonlySet<UsageGroup> =>
    new Set([
      ...(by === dimension ? rows.map((row) => row.by) : []),
      ...(thenBy === dimension ? rows.map((row) => row.thenBy) : []),
    ])
  const isByAccount = by === 'account' || thenBy === 'account'
  for (const id of idsOf('account')) {
    const account = await accountNameOf(deps, id as AccountId)
    names.set(id, { account_id: String(id), account })
  }
  const keyIds = [...idsOf('key')] as KeyId[]
  const owners = new Map<AccountId, string>()
  const ownerOf = async (id: AccountId): Promise<string> => {
    const name = owners.get(id) ?? (await accountNameOf(deps, id))
    owners.set(id, name)
    return name
  }
  for (let first = 0; first < keyIds.length; first += KEYS_PER_TURN) {
    if (first > 0) await idleTurn()
    const ids = keyIds.slice(first, first + KEYS_PER_TURN)
    const keys = new Map((await deps.store.keys.findMany(ids)).map((key) => [key.id, key]))
    for (const id of ids) {
      const key = keys.get(id)
      // A key that was moved has spent in other accounts too.
      const account = key && !isByAccount && { account: await ownerOf(key.accountId) }
      names.set(id, { key_id: id, key_name: key?.name ?? id, ...account })
    }
  }
  return names
}

function renderGroup(dimension: UsageDimension, group: UsageGroup, names: Names): UsageGroupRecord {
  switch (dimension) {
    case 'account':
    case 'key':
      return names.get(group) ?? {}
    case 'user':
      return { user: group === null ? null : String(group) }
    case 'model':
      return { model: String(group) }
    case 'provider':
      return { provider: group === null ? null : String(group) }
    case 'surface':
      return { surface: String(group) }
    case 'day':
      return { day: renderDay(Number(group) as Day) }
    case 'hour':
      return { hour: renderInstant(instant(Number(group))) }
  }
}

const renderSum = (sum: UsageSum, whole: UsdNanos): UsageSumRecord => ({
  requests: sum.requests,
  prompt_tokens: sum.promptTokens,
  completion_tokens: sum.completionTokens,
  images: sum.images,
  cost_usd: renderUsd(sum.cost),
  cost_rub: renderRub(sum.costRub),
  share_percent: whole === 0n ? null : shareOf(sum.cost, whole),
})

/** Rounded half up to two decimal places. */
const shareOf = (cost: UsdNanos, whole: UsdNanos): number =>
  Number((cost * 20_000n + whole) / (whole * 2n)) / 100
