/** Verbs for the limits of keys: show, and set with the changes reported. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import { type LimitsRecord, renderLimits } from '#domain/key-report.ts'
import { accountField, limitsFields, statedLimits } from '#forms/fields.ts'
import { maskWarnings } from '#forms/key-warnings.ts'
import { findAccount } from './find-account.ts'
import { findKey } from './find-key.ts'
import { listAllKeys } from './list-keys.ts'
import { mutation, verb } from './verb.ts'

export interface KeyLimitsRecord extends LimitsRecord {
  readonly id: string
  readonly name: string
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

const render = (key: ApiKey): KeyLimitsRecord => ({
  id: key.id,
  name: key.name,
  ...renderLimits(key),
})

/** The limits of one key, or of all keys of an account that are not revoked. @throws account_not_found, key_not_found */
export const showLimits = verb(
  z.strictObject({
    account: accountField,
    key: z._default(z.nullable(z.string().check(z.minLength(1))), null),
  }),
  async (deps, input): Promise<readonly KeyLimitsRecord[]> => {
    if (input.key !== null) return [render(await findKey(deps, input.key))]
    const { id } = await findAccount(deps, input.account)
    return (await listAllKeys(deps, false, id)).map(render)
  },
)

/** Absent limits stay unchanged. Takes effect with the next request. @throws key_not_found, key_revoked */
export const setLimits = mutation(
  'limits.set',
  z.strictObject({
    ...limitsFields,
    keys: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  }),
  async (deps, input): Promise<readonly AmendedLimitsRecord[]> => {
    // All keys are found before any is changed, so that a misspelt name changes nothing.
    const keys: ApiKey[] = []
    for (const text of input.keys) keys.push(requireNotRevoked(await findKey(deps, text)))
    const limits = statedLimits(input)
    const warnings = await maskWarnings(deps.store, limits.allowedModels ?? null)
    const amended: AmendedLimitsRecord[] = []
    for (const key of keys) {
      const after = await deps.store.keys.amend(key.id, { limits }, deps.clock.now())
      amended.push({ ...render(after), changes: changesBetween(key, after), warnings })
    }
    return amended
  },
  (_, amended) =>
    amended
      .filter(({ changes }) => changes.length > 0)
      .map(({ id, changes }) => ({
        target: id,
        changed: Object.fromEntries(changes.map(({ limit, from, to }) => [limit, { from, to }])),
      })),
)

function requireNotRevoked(key: ApiKey): ApiKey {
  if (key.revokedAt === null) return key
  throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
}

function changesBetween(before: ApiKey, after: ApiKey): readonly LimitChange[] {
  const from = renderLimits(before)
  const to = renderLimits(after)
  return (Object.keys(to) as (keyof LimitsRecord)[])
    .filter((limit) => JSON.stringify(from[limit]) !== JSON.stringify(to[limit]))
    .map((limit) => ({ limit, from: from[limit], to: to[limit] }))
}
