/** An account's money: balance, runway, spend, limits and low-balance threshold. */
import type { Account } from '#domain/account.ts'
import type { AccountDaySpend } from '#domain/admission.ts'
import { type Day, dayOf, type Instant, monthStart, renderInstant } from '#domain/clock.ts'
import { isUsedUp } from '#domain/limits.ts'
import { channelsOf } from '#domain/low-balance.ts'
import { addUsd, NO_MONEY, renderRubPerUsd, renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Channel, Notice } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import { toRunway } from '#domain/snapshot/pace.ts'
import type { OperatorDeps } from '../deps.ts'
import { keptReading } from '../kept-reading.ts'
import { renderThreshold } from '../threshold-record.ts'
import { percentOf, readGauges, type Used } from './gauges.ts'
import type { ChannelRecord, MoneyRecord, RunwayRecord } from './record.ts'

/** Covers the month and the seven days before today. */
const MAX_DAYS = 32

/** Sums of the spend limits of an account's keys; null where one has none, for what it spends is not bounded, or there are too many keys. */
export interface Caps {
  readonly day: UsdNanos | null
  readonly month: UsdNanos | null
}

export async function readMoney(
  deps: OperatorDeps,
  account: Account,
  caps: Caps,
): Promise<MoneyRecord> {
  const { store, clock } = deps
  const now = clock.now()
  const spends = (await readDays(deps, now)).filter(({ accountId }) => accountId === account.id)
  const { day, month } = sumsOf(spends, now)
  const threshold = await store.thresholds.find(account.id)
  const rate = rateAt(store.catalogue.current(), now)
  const { threshold_usd, marked, notified_at } = renderThreshold(threshold)
  // Read again: its balance moves, and its name may be changed.
  const current = (await store.accounts.find(account.id)) ?? account
  const use = await readUse(deps, current, now)
  const { name, balance } = current
  const channels = channelsOf(threshold)
  const dayCap = current.limits.dailySpend ?? caps.day
  const monthCap = current.limits.monthlySpend ?? caps.month
  return {
    account: name,
    balance_usd: renderUsd(balance),
    spend_day_usd: renderUsd(day),
    spend_month_usd: renderUsd(month),
    gauges: use && readGauges(current.limits, use, null, now),
    day_caps_usd: renderUsd(dayCap),
    month_caps_usd: renderUsd(monthCap),
    day_percent: percentOf(day, dayCap),
    month_percent: percentOf(month, monthCap),
    runway: renderRunway(balance, spends, now),
    threshold_usd,
    marked,
    notified_at,
    channels: await lastNotices(deps, account, channels),
    rub_per_usd: renderRubPerUsd(rate.rubPerUsd),
    rate_set_at: rate.setByOperator ? renderInstant(rate.effectiveFrom) : null,
  }
}

/** The daily spend of every account for this month and at least the last week. */
export async function readDays(
  deps: OperatorDeps,
  now: Instant,
): Promise<readonly AccountDaySpend[]> {
  const { admissions } = deps.store
  const today = dayOf(now)
  const since = (today - MAX_DAYS) as Day
  // Of days that are over only what began before midnight is still to come.
  const known = await keptReading(
    deps,
    `days ${since}`,
    () => admissions.spendByDay(since),
    OVER_MS,
  )
  const before = known.filter(({ day }) => day < today)
  return [...before, ...(await readToday(deps, now))]
}

/** The spend of every account today; that of very many keys is read every second or so. */
export const readToday = (deps: OperatorDeps, now: Instant): Promise<readonly AccountDaySpend[]> =>
  keptReading(deps, `today ${dayOf(now)}`, () => deps.store.admissions.spendByDay(dayOf(now)))

/** Days that are over are added up again after so long. */
const OVER_MS = 5_000

export function sumsOf(spends: readonly AccountDaySpend[], now: Instant) {
  const today = dayOf(now)
  const sumSince = (first: Day): UsdNanos =>
    spends
      .filter(({ day }) => day >= first)
      .reduce((sum, { spent }) => addUsd(sum, spent), NO_MONEY)
  return { day: sumSince(today), month: sumSince(monthStart(today)) }
}

export function renderRunway(
  balance: UsdNanos,
  spends: readonly AccountDaySpend[],
  now: Instant,
): RunwayRecord {
  const { ms, meanDay, days } = toRunway(balance, spends, now)
  return {
    seconds: ms === null ? null : Math.floor(ms / 1000),
    mean_day_usd: renderUsd(meanDay),
    days,
  }
}

/** What all keys of an account have used of its own limits; null where none of them counts. */
export async function readUse(
  { store }: OperatorDeps,
  { id, limits }: Account,
  now: Instant,
): Promise<Used | null> {
  if (!isUsedUp(limits)) return null
  const [use] = await store.admissions.accountUse([id], now)
  if (use === undefined) return null
  const { spendDay, spendMonth } = use
  return { ...use, spendDay: spendDay ?? NO_MONEY, spendMonth: spendMonth ?? NO_MONEY }
}

const MAX_NOTICES = 10

async function lastNotices(
  { store }: OperatorDeps,
  { id }: Account,
  channels: readonly Channel[],
): Promise<readonly ChannelRecord[]> {
  if (channels.length === 0) return []
  const notices: readonly Notice[] = await store.notices.list({
    accountId: id,
    limit: MAX_NOTICES,
  })
  return channels.map((channel) => ({
    channel,
    last: notices.find((notice) => notice.channel === channel)?.state ?? null,
  }))
}
