/** Verbs for keys: create, show, identify, revoke. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import { type ApiKey, draftKey, KEY_KINDS } from '#domain/key.ts'
import { describeIssue, describeRevocation } from '#domain/key-report.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { newSecret } from '#domain/secret.ts'
import { NO_QUOTA } from '#domain/window.ts'
import {
  accountField,
  limitsFields,
  nameField,
  noteField,
  orNull,
  requireFuture,
  scopeField,
  statedLimits,
  textField,
  timeField,
} from '#forms/fields.ts'
import { maskWarnings, nameWarnings } from '#forms/key-warnings.ts'
import { requireAllowance } from './allowance.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { findKey } from './find-key.ts'
import { type OperatorKeyRecord, reportKey } from './list-keys.ts'
import { type DraftAct, mutation, verb } from './verb.ts'
import { renderWindows } from './windows-record.ts'

export interface IssuedKeyRecord extends OperatorKeyRecord {
  /** The secret, shown only once. */
  readonly key: string
  readonly warnings: readonly string[]
}

const newKey = z.strictObject({
  ...limitsFields,
  name: nameField,
  account: accountField,
  kind: z._default(z.enum(KEY_KINDS), 'ordinary'),
  note: orNull(noteField),
  expires_at: orNull(timeField),
})

/** The answer contains the secret, only this once. @throws account_not_found, already_exists for a first key where there is one */
async function issueKey(
  deps: OperatorDeps,
  input: z.output<typeof newKey>,
  act: DraftAct,
  isFirst: boolean,
): Promise<IssuedKeyRecord> {
  const { store, clock } = deps
  const at = clock.now()
  const account = await findAccount(deps, input.account)
  const limits = { ...NO_LIMITS, ...statedLimits(input) }
  requireAllowance(deps.actor, account, limits)
  const warnings = [
    ...(await nameWarnings(store, input.name)),
    ...maskWarnings(store, limits.allowedModels),
  ]
  const secret = newSecret()
  const { name, kind, note } = input
  const expiresAt = requireFuture(input.expires_at, at)
  const madeBy = deps.actor?.personId ?? null
  const draft = { accountId: account.id, name, kind, note, limits, expiresAt, madeBy }
  const key = draftKey(draft, secret, at)
  const issued = { account: account.name, ...describeIssue(key) }
  await store.keys.issue(key, secret, act(key.id, issued), isFirst)
  return { ...(await reportKey(deps, key)), key: secret, warnings }
}

export const createKey = mutation('keys.create', newKey, (deps, input, act) =>
  issueKey(deps, input, act, false),
)

/** The same, but only where there is no key yet. */
export const createFirstKey = mutation('keys.create', newKey, (deps, input, act) =>
  issueKey(deps, input, act, true),
)

const namedKey = z.strictObject({ account: scopeField, key: textField })

/** One key with the remaining requests of its rate windows. @throws account_not_found, key_not_found */
export const showKey = verb(namedKey, async (deps, { key, account }) =>
  detailsOf(deps, await findKey(deps, key, account)),
)

/** The key with this secret. @throws account_not_found, key_not_found */
export const identifyKey = verb(
  z.strictObject({ account: scopeField, secret: z.string() }),
  async (deps, input) => {
    const key = await deps.store.keys.findBySecret(input.secret, deps.clock.now())
    if (!key) throw new GatewayError('key_not_found', 'no key answers to this secret')
    return detailsOf(deps, await findKey(deps, key.id, input.account))
  },
)

async function detailsOf(deps: OperatorDeps, key: ApiKey) {
  const [quota = NO_QUOTA] = await deps.store.admissions.quota([key.id], deps.clock.now())
  return {
    ...(await reportKey(deps, key)),
    windows: renderWindows(quota),
  }
}

/** Takes effect with the next request; answers in progress are completed. @throws account_not_found, key_not_found */
export const revokeKey = mutation(
  'keys.revoke',
  namedKey,
  async (deps, { key, account }, act): Promise<OperatorKeyRecord> => {
    const found = await findKey(deps, key, account)
    const revoked = act(found.id, describeRevocation(found))
    return reportKey(deps, await deps.store.keys.revoke(found.id, revoked))
  },
)
