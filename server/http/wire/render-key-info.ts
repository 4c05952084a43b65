/** `GET /v1/key` (contract §5), and the same in OpenRouter's format, so that credit widgets work. */
import type { KeyUsage } from '#domain/admission.ts'
import {
  dayOf,
  dayStart,
  type Instant,
  nextDay,
  nextMonthStart,
  renderInstant,
} from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { renderLimits } from '#domain/limits.ts'
import {
  NO_MONEY,
  type RubPerUsd,
  renderRub,
  renderUsd,
  renderUsdNumber,
  subtractUsd,
  toRub,
  type UsdNanos,
} from '#domain/money.ts'

export interface KeyFacts {
  readonly key: ApiKey
  readonly usage: KeyUsage
  readonly balance: UsdNanos
  readonly rubPerUsd: RubPerUsd
  readonly at: Instant
}

export function renderKeyInfo({ key, usage, balance, rubPerUsd, at }: KeyFacts) {
  const { limits } = key
  const rub = (amount: UsdNanos): number => renderRub(toRub(amount, rubPerUsd))
  const today = dayOf(at)
  const dayLeft = leftOf(limits.dailySpend, usage.spendDay)
  const monthLeft = leftOf(limits.monthlySpend, usage.spendMonth)
  return {
    object: 'key_info',
    id: key.id,
    name: key.name,
    label: key.label,
    kind: key.kind,
    limits: renderLimits(limits),
    usage: {
      spend_day_usd: renderUsd(usage.spendDay),
      spend_month_usd: renderUsd(usage.spendMonth),
      spend_day_rub: rub(usage.spendDay),
      spend_month_rub: rub(usage.spendMonth),
      reserved_usd: renderUsd(usage.reserved),
      requests_in_progress: usage.requestsInProgress,
      requests_minute: usage.requestsMinute,
      requests_day: usage.requestsDay,
      tokens_minute: usage.tokensMinute,
    },
    remaining: {
      minute: countLeft(limits.rpm, usage.requestsMinute),
      day: countLeft(limits.rpd, usage.requestsDay),
      tokens_minute: countLeft(limits.tpm, usage.tokensMinute),
      daily_spend_usd: renderUsd(dayLeft),
      monthly_spend_usd: renderUsd(monthLeft),
    },
    resets: {
      daily_spend_at: renderInstant(dayStart(nextDay(today))),
      monthly_spend_at: renderInstant(dayStart(nextMonthStart(today))),
    },
    balance: { amount_usd: renderUsd(balance), amount_rub: rub(balance) },
    expires_at: renderInstant(key.expiresAt),
    data: renderCredit(key, usage, dayLeft, monthLeft),
  }
}

/** OpenRouter has one limit per key: the monthly one, or the daily one if only that is set. */
function renderCredit(
  { label, kind, limits }: ApiKey,
  { spendDay, spendMonth }: KeyUsage,
  dayLeft: UsdNanos | null,
  monthLeft: UsdNanos | null,
) {
  const limit = limits.monthlySpend ?? limits.dailySpend
  const left = monthLeft ?? dayLeft
  return {
    label,
    usage: renderUsdNumber(spendMonth),
    usage_daily: renderUsdNumber(spendDay),
    usage_monthly: renderUsdNumber(spendMonth),
    limit: limit === null ? null : renderUsdNumber(limit),
    limit_remaining: left === null ? null : renderUsdNumber(left),
    is_provisioning_key: kind === 'provisioning',
  }
}

const countLeft = (limit: number | null, used: number): number | null =>
  limit === null ? null : Math.max(0, limit - used)

function leftOf(ceiling: UsdNanos | null, spent: UsdNanos): UsdNanos | null {
  if (ceiling === null) return null
  return spent >= ceiling ? NO_MONEY : subtractUsd(ceiling, spent)
}
