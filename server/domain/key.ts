/** An API key and its limits. Its secret is stored separately, so that a rotation keeps id and counters. */
import type { Act, Amended } from './act.ts'
import type { Arrival, Instant } from './clock.ts'
import { GatewayError } from './errors.ts'
import { type AccountId, type KeyId, newKeyId } from './id.ts'
import { type Limits, NO_LIMITS } from './limits.ts'
import { CONTROL } from './plain-text.ts'
import { labelOf, type Secret } from './secret.ts'

export const KEY_KINDS = ['ordinary', 'provisioning'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

export const MAX_NAME_CHARS = 128
/** A window keeps one instant per slot, so its size is bounded. */
export const MAX_WINDOW_SLOTS = 10_000_000

export interface ApiKey {
  readonly id: KeyId
  readonly accountId: AccountId
  readonly name: string
  readonly kind: KeyKind
  /** The label of its newest secret. */
  readonly label: string
  readonly note: string | null
  readonly limits: Limits
  /** Of its account, which hold for all its keys together. */
  readonly accountLimits: Limits
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly lastUsedAt: Instant | null
  readonly expiresAt: Instant | null
  readonly disabledAt: Instant | null
  readonly revokedAt: Instant | null
  /** The id of the person who made it in the cabinet; null for one that an operator or a provisioning key made. */
  readonly madeBy: string | null
}

/** The fields that the issuer of a key states. */
export type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'kind' | 'note' | 'limits' | 'expiresAt'> &
  Partial<Pick<ApiKey, 'madeBy'>>

/** A newly issued key: active and never used. The store knows its account's limits. */
export const draftKey = (draft: NewKey, secret: Secret, at: Instant): ApiKey => ({
  id: newKeyId(at),
  label: labelOf(secret),
  createdAt: at,
  updatedAt: at,
  lastUsedAt: null,
  disabledAt: null,
  revokedAt: null,
  madeBy: null,
  accountLimits: NO_LIMITS,
  ...draft,
})

export const keyNotFound = (id: KeyId): GatewayError =>
  new GatewayError('key_not_found', `there is no key ${id}`, { hint: 'gatewayctl keys list' })

export type KeyStatus = 'active' | 'disabled' | 'expired' | 'revoked'

/** The strongest state wins: revoked, then expired, then disabled. */
export function keyStatus(key: ApiKey, at: Instant): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiresAt !== null && key.expiresAt <= at) return 'expired'
  return key.disabledAt === null ? 'active' : 'disabled'
}

/** Changes to a key; an absent field stays as it is. */
export interface KeyAmendment {
  readonly name?: string
  readonly note?: string | null
  readonly limits?: Partial<Limits>
  readonly expiresAt?: Instant | null
  /** One that is disabled already keeps its time. */
  readonly disabled?: boolean
}

export function amendKey(
  key: ApiKey,
  { limits, disabled, ...fields }: KeyAmendment,
  at: Instant,
): ApiKey {
  const disabledAt = disabled === false ? null : disabled ? (key.disabledAt ?? at) : key.disabledAt
  return { ...key, ...fields, disabledAt, limits: { ...key.limits, ...limits }, updatedAt: at }
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
  /** Stores the key and a digest of its secret, never the secret itself. @throws already_exists for a first key where there is one */
  issue(key: ApiKey, secret: Secret, act: Act, isFirst?: boolean): Promise<void>
  /** The key that this token opens, whatever its state; none for what is no secret. Called once per request. */
  findBySecret(token: string, at: Instant): Promise<ApiKey | undefined>
  find(id: KeyId): Promise<ApiKey | undefined>
  /** As the next request would find it, for one that has waited: it waits for nothing that is being written. */
  current(id: KeyId): Promise<ApiKey | undefined>
  /** Those of them that there are, in their order. */
  findMany(ids: readonly KeyId[]): Promise<readonly ApiKey[]>
  /** Keys whose id or name equals `text`, or whose label begins with it; at most `limit`, of one account or of any. For an operator's input. */
  search(text: string, limit: number, accountId?: AccountId): Promise<readonly ApiKey[]>
  list(query: KeyQuery): Promise<KeyPage>
  /** Whether a key that is not revoked has exactly this name, in this account or in any. */
  isNamed(name: string, accountId?: AccountId): Promise<boolean>
  /** The act gains what changed, from what to what. @throws key_not_found, key_revoked */
  amend(id: KeyId, amendment: KeyAmendment, act: Act): Promise<Amended<ApiKey>>
  /**
   * Gives the key a new secret and label; id, limits and counters stay. Earlier secrets stay valid until `graceUntil` (null:
   * invalid from the act on), but never longer than before. @throws key_not_found, key_revoked
   */
  rotate(id: KeyId, secret: Secret, graceUntil: Instant | null, act: Act): Promise<ApiKey>
  /** Records a use without an admission, which records its own. It is written later, or lost with the process. */
  noteUse(id: KeyId, at: Instant): void
  /**
   * Gives the key to another account, from the next request: what it has spent in this day and month counts there; requests in
   * progress are paid by the account that admitted them. @throws key_not_found, key_revoked, account_not_found, account_closed
   */
  move(id: KeyId, accountId: AccountId, act: Act): Promise<Amended<ApiKey>>
  /** Idempotent: only the first leaves its act. One that has been moved away from `of` meanwhile stays. @throws key_not_found */
  revoke(id: KeyId, act: Act, of?: AccountId): Promise<ApiKey>
}

/** Exact ids, `<provider>/*`, or `*`; null allows every model. */
export type AllowList = readonly string[] | null

export const MASK = new RegExp(`^(\\*|[^\\s/*${CONTROL}]+/(\\*|[^\\s*${CONTROL}]+))$`)
export const MAX_MASKS = 256
export const MAX_MASK_CHARS = 256

/** Whether `text` is an exact model id, `<provider>/*` or `*`. */
export const isMask = (text: string): boolean => text.length <= MAX_MASK_CHARS && MASK.test(text)

const matches = (mask: string, model: string): boolean =>
  mask === model || mask === '*' || (mask.endsWith('/*') && model.startsWith(mask.slice(0, -1)))

/** Case-sensitive; must be checked for every candidate of a route. */
export const allows = (list: AllowList, model: string): boolean =>
  list === null || list.some((mask) => matches(mask, model))

/** The limits that hold for one key. */
export type Bounds = Pick<ApiKey, 'limits' | 'accountLimits'>

/** Whether the key's list and its account's both have the model. */
export const mayCall = ({ limits, accountLimits }: Bounds, model: string): boolean =>
  allows(limits.allowedModels, model) && allows(accountLimits.allowedModels, model)

/** The lower of the key's and its account's bound of an answer. */
export function outputBoundOf({ limits, accountLimits }: Bounds): number | null {
  const [own, shared] = [limits.maxOutputTokens, accountLimits.maxOutputTokens]
  return own === null || shared === null ? (own ?? shared) : Math.min(own, shared)
}

/** The masks of a list that match none of the known models: accepted, but worth a warning. */
export const idleMasks = (list: AllowList, models: readonly string[]): readonly string[] =>
  (list ?? []).filter((mask) => !models.some((model) => matches(mask, model)))

/** Who calls: a key, and the request that it came with. */
export interface Caller extends Arrival {
  readonly key: ApiKey
  readonly requestId: string
}
