/** What a person sees first of an account: money, keys nearest to their limits, and what was refused; and the figures that live. */

import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import type { ActivityEntry } from '#domain/activity.ts'
import {
  DAY_MS,
  type Day,
  dayOf,
  dayStart,
  later,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { withSpending } from '#domain/key-report.ts'
import { addUsd, NO_MONEY, renderUsd } from '#domain/money.ts'
import { readSpan, type Span } from '#domain/snapshot/figures.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import { statedIn } from '#domain/stated.ts'
import { accountField } from '#forms/fields.ts'
import type { PersonId } from '#signin/register/person.ts'
import { makerOf, sees } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { keptReading } from './kept-reading.ts'
import { listAllKeys } from './list-keys.ts'
import { readKeys } from './snapshot/keys.ts'
import { readDays, readMoney, readToday } from './snapshot/money.ts'
import type { KeyRowRecord, MoneyRecord } from './snapshot/record.ts'
import { verb } from './verb.ts'

export interface OverviewRecord {
  readonly account: string
  /** Null for a member, who sees what their own keys spend alone. Its ceilings are the account's own, else those of its keys together. */
  readonly money: MoneyRecord | null
  readonly figures: FiguresRecord
  /** Of the last 30 days, the oldest first. */
  readonly days: readonly OverviewDay[]
  /** Those that are not revoked. */
  readonly keys: number
  /** The nearest to a limit first. */
  readonly nearest: readonly KeyRowRecord[]
}

export interface OverviewDay {
  readonly day: string
  readonly spend_usd: string
  /** Those that were admitted. */
  readonly requests: number
}

export interface RefusalsRecord {
  readonly code: string
  readonly key_id: string
  readonly key_name: string
  readonly count: number
  /** Whether there are more than were counted. */
  readonly is_least: boolean
  readonly latest: string
  readonly latest_at: string
}

/** What changes while somebody looks. */
export interface FiguresRecord {
  /** Null for a member. */
  readonly balance_usd: string | null
  readonly spend_day_usd: string
  readonly in_flight: number
  /** The last request that ended or was refused; null for none of late. */
  readonly latest_request: string | null
}

const DAYS = 30
/** Of a month at most. */
const MONTH_DAYS = 31
const MAX_NEAREST = 8
const ROWS_PER_LOOK = 20
const HOUR_MS = 3_600_000

const named = z.strictObject({ account: accountField })

/** @throws account_not_found */
export const readOverview = verb(named, async (deps, input): Promise<OverviewRecord> => {
  const account = await findAccount(deps, input.account)
  const { keys, caps } = await keptReading(deps, `keys ${account.id}`, () =>
    readKeys(deps, account, lastHourOf(deps)),
  )
  const { dailySpend, monthlySpend } = account.limits
  const isWhole = makerOf(deps.actor) === undefined
  return {
    account: account.name,
    money: isWhole
      ? await readMoney(deps, account, {
          day: dailySpend ?? caps.day,
          month: monthlySpend ?? caps.month,
        })
      : null,
    figures: await figuresOf(deps, account),
    days: await daysOf(deps, account, DAYS),
    keys: await countKeys(deps, account),
    nearest: await nearestOf(deps, account, keys.rows),
  }
})

async function countKeys(deps: OperatorDeps, { id }: Account): Promise<number> {
  if (makerOf(deps.actor) !== undefined) return (await listAllKeys(deps, false, id)).length
  const { totalCount } = await deps.store.keys.list({
    accountId: id,
    includeRevoked: false,
    limit: 1,
  })
  return totalCount
}

/** The first of the rows, which may have been read a while ago, that there are for the actor now. */
async function nearestOf(
  { store, actor }: OperatorDeps,
  { id: accountId }: Account,
  rows: readonly KeyRowRecord[],
): Promise<readonly KeyRowRecord[]> {
  const nearest: KeyRowRecord[] = []
  for (let first = 0; first < rows.length && nearest.length < MAX_NEAREST; first += ROWS_PER_LOOK) {
    const some = rows.slice(first, first + ROWS_PER_LOOK)
    const keys = await store.keys.findMany(some.map(({ id }) => id as KeyId))
    const own = keys.filter(
      (key) => key.accountId === accountId && key.revokedAt === null && sees(actor, key),
    )
    const ids = new Set<string>(own.map(({ id }) => id))
    nearest.push(...some.filter(({ id }) => ids.has(id)))
  }
  return nearest.slice(0, MAX_NEAREST)
}

function lastHourOf({ watch, clock }: OperatorDeps): Span {
  const now = clock.now()
  return watch === undefined
    ? { endings: [], ms: HOUR_MS, now }
    : readSpan(watch.pulse.endings, now, HOUR_MS)
}

/** @throws account_not_found */
export const readFigures = verb(
  named,
  async (deps, input): Promise<FiguresRecord> =>
    figuresOf(deps, await findAccount(deps, input.account)),
)

/** Of the last 31 days, the oldest first. @throws account_not_found */
export const readAccountDays = verb(
  named,
  async (deps, input): Promise<OverviewRecord['days']> =>
    daysOf(deps, await findAccount(deps, input.account), MONTH_DAYS),
)

/** Of the last 24 hours, by code and key; the most frequent first. @throws account_not_found */
export const readAccountRefusals = verb(
  named,
  async (deps, input): Promise<readonly RefusalsRecord[]> =>
    refusalsOf(deps, await findAccount(deps, input.account)),
)

async function figuresOf(deps: OperatorDeps, account: Account): Promise<FiguresRecord> {
  const { store, clock, watch, actor } = deps
  const running = watch?.inFlight(Number.POSITIVE_INFINITY) ?? []
  const in_flight = running.filter(
    ({ key }) => key.accountId === account.id && sees(actor, key),
  ).length
  const at = clock.now()
  if (makerOf(actor) !== undefined) {
    const keys = await withSpending(
      store.admissions,
      await listAllKeys(deps, false, account.id),
      at,
    )
    const spent = keys.reduce((sum, [, { spendDay }]) => addUsd(sum, spendDay), NO_MONEY)
    const own = new Set<string>(keys.map(([{ id }]) => id))
    const latest_request = latestOf(watch, ({ keyId }) => own.has(keyId))
    return { balance_usd: null, spend_day_usd: renderUsd(spent), in_flight, latest_request }
  }
  const today = await readToday(deps, at)
  const spent = today.find(({ accountId }) => accountId === account.id)?.spent ?? NO_MONEY
  const { balance } = (await store.accounts.find(account.id)) ?? account
  return {
    balance_usd: renderUsd(balance),
    spend_day_usd: renderUsd(spent),
    in_flight,
    latest_request: latestOf(watch, ({ accountId }) => accountId === account.id),
  }
}

function latestOf(watch: Watch | undefined, isOurs: (entry: ActivityEntry) => boolean) {
  for (const entry of watch?.pulse.recent.since() ?? []) {
    if (isOurs(entry)) return entry.generationId
  }
  return null
}

/** From the sums of days; of a member's keys from the log. */
async function daysOf(
  deps: OperatorDeps,
  account: Account,
  length: number,
): Promise<OverviewRecord['days']> {
  const today = dayOf(deps.clock.now())
  const first = today - length + 1
  const sums = new Map<number, Omit<OverviewDay, 'day'>>()
  const madeBy = makerOf(deps.actor)
  if (madeBy === undefined) {
    for (const one of await readDays(deps, deps.clock.now())) {
      if (one.accountId !== account.id) continue
      sums.set(one.day, { spend_usd: renderUsd(one.spent), requests: one.requests })
    }
  } else {
    const query = { by: 'day', thenBy: null, accountId: account.id, madeBy, top: length } as const
    const since = dayStart(first as Day)
    const { rows } = await deps.store.activity.usage({ ...query, since })
    for (const { by, cost, requests } of rows) {
      sums.set(Number(by), { spend_usd: renderUsd(cost), requests })
    }
  }
  return Array.from({ length }, (_, n) => ({
    day: renderDay((first + n) as Day),
    ...(sums.get(first + n) ?? { spend_usd: renderUsd(NO_MONEY), requests: 0 }),
  }))
}

/** So many of the latest are looked at. */
const MAX_REFUSED = 500

/** A day of the log is looked through for them. */
async function refusalsOf(deps: OperatorDeps, account: Account) {
  const madeBy = makerOf(deps.actor)
  const name = `refusals ${account.id} ${madeBy ?? ''}`
  return await keptReading(deps, name, () => readRefusals(deps, account, madeBy))
}

async function readRefusals(
  { store, clock }: OperatorDeps,
  account: Account,
  madeBy: PersonId | undefined,
) {
  const entries = await store.activity.list({
    accountId: account.id,
    ...statedIn({ madeBy }),
    status: { least: 400, most: 498 },
    errorsOnly: true,
    since: later(clock.now(), -DAY_MS),
    limit: MAX_REFUSED,
  })
  const refused = entries.filter(({ endedBy }) => endedBy === 'refused')
  const groups = Map.groupBy(refused, ({ code, keyId }) => `${code} ${keyId}`)
  const records: RefusalsRecord[] = []
  for (const group of groups.values()) {
    const [latest] = group
    if (latest === undefined) continue
    const key = await store.keys.find(latest.keyId)
    records.push({
      code: latest.code ?? '',
      key_id: latest.keyId,
      key_name: key?.name ?? latest.keyId,
      count: group.length,
      is_least: entries.length === MAX_REFUSED,
      latest: latest.generationId,
      latest_at: renderInstant(latest.startedAt),
    })
  }
  return records.toSorted((a, b) => b.count - a.count)
}
