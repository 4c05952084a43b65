/** A key as its row and as the domain's noun. */
import type { Instant } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey, KeyKind } from '#domain/key.ts'
import type { UsdNanos } from '#domain/money.ts'
import { fromInteger, toInteger } from '../money/amount.ts'

/** Its names are the columns. */
export type KeyRow = {
  readonly id: KeyId
  readonly account_id: AccountId
  readonly name: string
  readonly kind: KeyKind
  readonly label: string
  readonly note: string | null
  readonly rpm_limit: number | null
  readonly rpd_limit: number | null
  readonly concurrency_limit: number | null
  readonly daily_spend_nanos: number | null
  readonly monthly_spend_nanos: number | null
  readonly end_user_rpm: number | null
  readonly end_user_daily_nanos: number | null
  readonly max_output_tokens: number | null
  /** A JSON array of masks. */
  readonly allowed_models: string | null
  readonly created_at: Instant
  readonly updated_at: Instant
  readonly last_used_at: Instant | null
  readonly expires_at: Instant | null
  readonly disabled_at: Instant | null
  readonly revoked_at: Instant | null
}

const orNull = <T, R>(value: T | null, turn: (value: T) => R): R | null =>
  value === null ? null : turn(value)

export const toKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  kind: row.kind,
  label: row.label,
  note: row.note,
  limits: {
    rpm: row.rpm_limit,
    rpd: row.rpd_limit,
    concurrency: row.concurrency_limit,
    dailySpend: orNull(row.daily_spend_nanos, fromInteger<UsdNanos>),
    monthlySpend: orNull(row.monthly_spend_nanos, fromInteger<UsdNanos>),
    endUserRpm: row.end_user_rpm,
    endUserDailySpend: orNull(row.end_user_daily_nanos, fromInteger<UsdNanos>),
    maxOutputTokens: row.max_output_tokens,
    allowedModels: orNull(row.allowed_models, (json): readonly string[] => JSON.parse(json)),
  },
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  disabledAt: row.disabled_at,
  revokedAt: row.revoked_at,
})

export const fromKey = ({ limits, ...key }: ApiKey): KeyRow => ({
  id: key.id,
  account_id: key.accountId,
  name: key.name,
  kind: key.kind,
  label: key.label,
  note: key.note,
  rpm_limit: limits.rpm,
  rpd_limit: limits.rpd,
  concurrency_limit: limits.concurrency,
  daily_spend_nanos: orNull(limits.dailySpend, toInteger),
  monthly_spend_nanos: orNull(limits.monthlySpend, toInteger),
  end_user_rpm: limits.endUserRpm,
  end_user_daily_nanos: orNull(limits.endUserDailySpend, toInteger),
  max_output_tokens: limits.maxOutputTokens,
  allowed_models: orNull(limits.allowedModels, (masks) => JSON.stringify(masks)),
  created_at: key.createdAt,
  updated_at: key.updatedAt,
  last_used_at: key.lastUsedAt,
  expires_at: key.expiresAt,
  disabled_at: key.disabledAt,
  revoked_at: key.revokedAt,
})
