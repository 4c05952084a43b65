/** A key as its row and as the domain's noun. */
import type { Instant } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey, KeyKind } from '#domain/key.ts'
import { fromLimits, toLimits } from './limits-column.ts'

/** Its names are the columns. */
export type KeyRow = {
  readonly id: KeyId
  readonly account_id: AccountId
  readonly name: string
  readonly kind: KeyKind
  readonly label: string
  readonly note: string | null
  /** JSON: see `toLimits`. */
  readonly limits: string
  readonly created_at: Instant
  readonly updated_at: Instant
  readonly last_used_at: Instant | null
  readonly expires_at: Instant | null
  readonly disabled_at: Instant | null
  readonly revoked_at: Instant | null
  readonly made_by: string | null
}

/** What `toKey` reads: the row, and the limits of its account. */
export const KEY_COLUMNS =
  '*, (SELECT owner.limits FROM accounts AS owner WHERE owner.id = keys.account_id) AS account_limits'

/** A row as it is read. */
export type FoundKeyRow = KeyRow & { readonly account_limits: string | null }

/** A key whose account is lost is found all the same, and told by the audit. */
export const toKey = (row: FoundKeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  kind: row.kind,
  label: row.label,
  note: row.note,
  limits: toLimits(row.limits),
  accountLimits: toLimits(row.account_limits ?? '{}'),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  disabledAt: row.disabled_at,
  revokedAt: row.revoked_at,
  madeBy: row.made_by,
})

export const fromKey = ({ limits, ...key }: ApiKey): KeyRow => ({
  id: key.id,
  account_id: key.accountId,
  name: key.name,
  kind: key.kind,
  label: key.label,
  note: key.note,
  limits: fromLimits(limits),
  created_at: key.createdAt,
  updated_at: key.updatedAt,
  last_used_at: key.lastUsedAt,
  expires_at: key.expiresAt,
  disabled_at: key.disabledAt,
  revoked_at: key.revokedAt,
  made_by: key.madeBy,
})
