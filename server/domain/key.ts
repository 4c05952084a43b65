/** An API key: who may call, within which limits. Its secret lives apart, so that a rotation keeps id and counters. */
import type { AllowList } from './allow-list.ts'
import type { Instant } from './clock.ts'
import { type AccountId, type KeyId, newKeyId } from './id.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { UsdNanos } from './money.ts'
import { labelOf, type Secret } from './secret.ts'

export type KeyKind = 'ordinary' | 'provisioning'

/** What a key may do; null is no limit. Counts are at least 1. */
export interface Limits {
  /** Requests in any 60 seconds. */
  readonly rpm: number | null
  /** Requests in any 24 hours. */
  readonly rpd: number | null
  /** Requests in progress at once. */
  readonly concurrency: number | null
  /** Ceiling of a UTC day. */
  readonly dailySpend: UsdNanos | null
  /** Ceiling of a UTC calendar month. */
  readonly monthlySpend: UsdNanos | null
  /** Requests of each end user in any 60 seconds. */
  readonly endUserRpm: number | null
  /** Ceiling of each end user in a UTC day. */
  readonly endUserDailySpend: UsdNanos | null
  readonly allowedModels: AllowList
}

export const NO_LIMITS: Limits = {
  rpm: null,
  rpd: null,
  concurrency: null,
  dailySpend: null,
  monthlySpend: null,
  endUserRpm: null,
  endUserDailySpend: null,
  allowedModels: null,
}

export const MOST_NAME_CHARS = 128
/** A window keeps one instant per slot, so its size is bounded. */
export const MOST_WINDOW_SLOTS = 10_000_000

export interface ApiKey {
  readonly id: KeyId
  readonly accountId: AccountId
  readonly name: string
  readonly kind: KeyKind
  /** The label of its newest secret. */
  readonly label: string
  readonly note: string | null
  readonly limits: Limits
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly lastUsedAt: Instant | null
  readonly expiresAt: Instant | null
  readonly disabledAt: Instant | null
  readonly revokedAt: Instant | null
}

/** What the caller states of a key that is to be issued. */
export type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'kind' | 'note' | 'limits' | 'expiresAt'>

/** A key as it is issued: active, never used, named by its secret's label. */
export const draftKey = (draft: NewKey, secret: Secret, at: Instant): ApiKey => ({
  id: newKeyId(at),
  label: labelOf(secret),
  createdAt: at,
  updatedAt: at,
  lastUsedAt: null,
  disabledAt: null,
  revokedAt: null,
  ...draft,
})

export type KeyStatus = 'active' | 'disabled' | 'expired' | 'revoked'

/** Revoked outlasts expired outlasts disabled: the strongest reason is the one shown. */
export function keyStatus(key: ApiKey, at: Instant): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiresAt !== null && key.expiresAt <= at) return 'expired'
  return key.disabledAt === null ? 'active' : 'disabled'
}

/** What may change about a key; a field left out stays as it is. */
export interface KeyAmendment {
  readonly name?: string
  readonly note?: string | null
  readonly limits?: Partial<Limits>
  readonly expiresAt?: Instant | null
  readonly disabledAt?: Instant | null
}

export interface KeyQuery {
  readonly accountId?: AccountId
  readonly includeRevoked: boolean
  readonly limit: number
  /** Continue after this key. */
  readonly after?: KeyId
}

export interface KeyPage {
  /** Newest first. */
  readonly keys: readonly ApiKey[]
  readonly hasMore: boolean
  readonly totalCount: number
}

/** Port: where keys and their secrets are kept. Every change holds from the next request and is durable before it resolves. */
export interface Keys {
  /** Keeps the key and a digest of its secret; the secret itself is kept nowhere. */
  issue(key: ApiKey, secret: Secret): Promise<void>
  /** The key that answers to this secret, whatever its state; asked once per request. */
  findBySecret(secret: Secret, at: Instant): MaybePromise<ApiKey | undefined>
  find(id: KeyId): Promise<ApiKey | undefined>
  /** Keys by id, exact name or start of label, at most `limit`: the candidates for what an operator typed. */
  search(text: string, limit: number): Promise<readonly ApiKey[]>
  list(query: KeyQuery): Promise<KeyPage>
  /** Whether a key that is not revoked goes by exactly this name, of this account or of any. */
  isNamed(name: string, accountId?: AccountId): Promise<boolean>
  /** @throws key_not_found, key_revoked */
  amend(id: KeyId, amendment: KeyAmendment, at: Instant): Promise<ApiKey>
  /**
   * Gives the key a new secret and its label; id, limits and counters stay. Earlier secrets open it until `graceUntil`
   * (null: no longer from `at`), and none of them longer than it already would. @throws key_not_found, key_revoked
   */
  rotate(id: KeyId, secret: Secret, at: Instant, graceUntil: Instant | null): Promise<ApiKey>
  /** A key was used that claims nothing; admissions note the use of those that do. Nobody waits until it is written. */
  noteUse(id: KeyId, at: Instant): MaybePromise<void>
  /** Repeating it changes nothing. @throws key_not_found */
  revoke(id: KeyId, at: Instant): Promise<ApiKey>
}
