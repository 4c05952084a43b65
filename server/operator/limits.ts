/** Verbs for the limits of keys: show, and set with the changes reported. */
import * as z from 'zod/mini'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type ApiKey, type KeyStatus, keyStatus } from '#domain/key.ts'
import { LIMITS, type LimitsRecord, renderLimits } from '#domain/limits.ts'
import { limitsFields, orNull, scopeField, statedLimits, textField } from '#forms/fields.ts'
import { maskWarnings } from '#forms/key-warnings.ts'
import { requireAllowed } from './allowance.ts'
import { accountNameOf, findAccount } from './find-account.ts'
import { findKey } from './find-key.ts'
import { listAllKeys } from './list-keys.ts'
import { mutation, verb } from './verb.ts'

export interface KeyLimitsRecord extends LimitsRecord {
  readonly id: string
  readonly name: string
  readonly kind: ApiKey['kind']
  readonly status: KeyStatus
  /** The name of the account. */
  readonly account: string
}

export interface LimitChange {
  readonly limit: keyof LimitsRecord
  readonly from: LimitsRecord[keyof LimitsRecord]
  readonly to: LimitsRecord[keyof LimitsRecord]
}

export interface AmendedLimitsRecord extends KeyLimitsRecord {
  readonly changes: readonly LimitChange[]
  readonly warnings: readonly string[]
}

const render = (key: ApiKey, account: string, at: Instant): KeyLimitsRecord => ({
  id: key.id,
  name: key.name,
  kind: key.kind,
  status: keyStatus(key, at),
  account,
  ...renderLimits(key.limits),
})

/** The limits of one key, or of all keys of an account that are not revoked. @throws account_not_found, key_not_found */
export const showLimits = verb(
  z.strictObject({
    /** Without it, of all keys the default account's. */
    account: scopeField,
    key: orNull(textField),
  }),
  async (deps, input): Promise<readonly KeyLimitsRecord[]> => {
    const at = deps.clock.now()
    if (input.key !== null) {
      const key = await findKey(deps, input.key, input.account)
      return [render(key, await accountNameOf(deps, key.accountId), at)]
    }
    const { id, name } = await findAccount(deps, input.account ?? DEFAULT_ACCOUNT_NAME)
    return (await listAllKeys(deps, false, id)).map((key) => render(key, name, at))
  },
)

/** Absent limits stay unchanged. Takes effect with the next request. @throws account_not_found, key_not_found, key_revoked */
export const setLimits = mutation(
  'limits.set',
  z.strictObject({
    ...limitsFields,
    account: scopeField,
    keys: z.array(textField).check(z.minLength(1)),
  }),
  async (deps, input, act): Promise<readonly AmendedLimitsRecord[]> => {
    // All keys are found before any is changed, so that a misspelt name changes nothing.
    const keys: ApiKey[] = []
    for (const text of input.keys) {
      keys.push(requireNotRevoked(await findKey(deps, text, input.account)))
    }
    const limits = statedLimits(input)
    for (const key of keys) await requireAllowed(deps, { ...key.limits, ...limits })
    const at = deps.clock.now()
    const warnings = maskWarnings(deps.store, limits.allowedModels ?? null)
    const amended: AmendedLimitsRecord[] = []
    for (const key of keys) {
      const { before, after } = await deps.store.keys.amend(key.id, { limits }, act(key.id))
      const account = await accountNameOf(deps, after.accountId)
      amended.push({
        ...render(after, account, at),
        changes: limitChanges(before, after),
        warnings,
      })
    }
    return amended
  },
)

function requireNotRevoked(key: ApiKey): ApiKey {
  if (key.revokedAt === null) return key
  throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
}

export function limitChanges(
  before: Pick<ApiKey, 'limits'>,
  after: Pick<ApiKey, 'limits'>,
): readonly LimitChange[] {
  const from = renderLimits(before.limits)
  const to = renderLimits(after.limits)
  return LIMITS.map(({ name }) => name)
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ limit: name, from: from[name], to: to[name] }))
}
