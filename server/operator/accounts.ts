/** Verbs for accounts: create, rename, show. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME, draftAccount } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { describeRevocation } from '#domain/key-report.ts'
import { renderAccountLimits } from '#domain/limits.ts'
import { renderUsd } from '#domain/money.ts'
import { statedIn } from '#domain/stated.ts'
import {
  accountLimitsFields,
  accountNameField,
  scopeField,
  statedLimits,
  textField,
  usdField,
} from '#forms/fields.ts'
import { maskWarnings } from '#forms/key-warnings.ts'
import { allowanceOf } from './allowance.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findAccount, findOpenAccount } from './find-account.ts'
import { findKey } from './find-key.ts'
import { type LimitChange, limitChanges } from './limits.ts'
import { type AccountRecord, renderAccount } from './list-accounts.ts'
import { listAllKeys, type OperatorKeyRecord, reportKey } from './list-keys.ts'
import { peopleOf } from './people-of.ts'
import { readUse } from './snapshot/money.ts'
import { renderThreshold, type ThresholdRecord } from './threshold-record.ts'
import { mutation, verb } from './verb.ts'
import { renderWindows, type WindowsRecord } from './windows-record.ts'

export interface AccountDetailsRecord extends AccountRecord, ThresholdRecord {
  /** Those that are not revoked. */
  readonly keys: number
  /** What each key that a member makes may spend in a day at most. */
  readonly member_daily_usd: string
  readonly owners: readonly string[]
  readonly members: number
  /** Of its limits; null where none of them counts. */
  readonly usage: AccountUsageRecord | null
}

export interface AccountUsageRecord extends WindowsRecord {
  readonly requests_in_progress: number
  readonly spend_day_usd: string
  readonly spend_month_usd: string
}

/** The new account has no balance and no keys. @throws already_exists */
export const createAccount = mutation(
  'accounts.create',
  z.strictObject({ ...accountLimitsFields, name: accountNameField }),
  async ({ store, clock }, { name, ...stated }, act): Promise<AccountRecord> => {
    const account = draftAccount(name, clock.now(), statedLimits(stated))
    const changed = statedIn({ name, ...renderAccountLimits(account.limits) })
    await store.accounts.create(account, act(account.id, changed))
    return renderAccount(account)
  },
)

/**
 * Changes the name only; `default` keeps its name, because commands act on it where none is named.
 * @throws account_not_found, already_exists, invalid_request
 */
export const renameAccount = mutation(
  'accounts.rename',
  z.strictObject({ account: z.string(), name: accountNameField }),
  async (deps, { account, name }, act): Promise<AccountRecord & { readonly previous: string }> => {
    const found = await findAccount(deps, account)
    if (found.name === DEFAULT_ACCOUNT_NAME && name !== found.name) {
      throw new GatewayError(
        'invalid_request',
        `account ${DEFAULT_ACCOUNT_NAME} keeps its name: commands without --account act on it`,
        { param: 'account', hint: 'gatewayctl accounts create NAME' },
      )
    }
    const { before, after } = await deps.store.accounts.amend(found.id, { name }, act(found.id))
    return { ...renderAccount(after), previous: before.name }
  },
)

/** What a member's own key may spend in a day at most; null is the usual amount. @throws account_not_found */
export const editAccount = mutation(
  'accounts.edit',
  z.strictObject({ account: z.string(), member_daily_usd: z.nullable(usdField) }),
  async (deps, { account, member_daily_usd }, act) => {
    const { id } = await findAccount(deps, account)
    const { before, after } = await deps.store.accounts.amend(
      id,
      { memberDaily: member_daily_usd },
      act(id),
    )
    return {
      ...renderAccount(after),
      member_daily_usd: renderUsd(allowanceOf(after)),
      previous: { member_daily_usd: renderUsd(allowanceOf(before)) },
    }
  },
)

/** One account with its number of keys and its low-balance threshold. @throws account_not_found */
export const showAccount = verb(
  z.strictObject({ name: z.string() }),
  async (deps, { name }): Promise<AccountDetailsRecord> => {
    const { store } = deps
    const account = await findAccount(deps, name)
    const scope = { accountId: account.id, includeRevoked: false, limit: 1 }
    const { totalCount } = await store.keys.list(scope)
    return {
      ...renderAccount(account),
      keys: totalCount,
      member_daily_usd: renderUsd(allowanceOf(account)),
      ...(await peopleOf(deps, account)),
      usage: await usageOf(deps, account),
      ...renderThreshold(await store.thresholds.find(account.id)),
    }
  },
)

async function usageOf(deps: OperatorDeps, account: Account): Promise<AccountUsageRecord | null> {
  const use = await readUse(deps, account, deps.clock.now())
  return (
    use && {
      ...renderWindows(use),
      requests_in_progress: use.requestsInProgress,
      spend_day_usd: renderUsd(use.spendDay),
      spend_month_usd: renderUsd(use.spendMonth),
    }
  )
}

export interface AmendedAccountRecord extends AccountRecord {
  readonly changes: readonly LimitChange[]
  readonly warnings: readonly string[]
}

/** What all keys of an account together may do; absent limits stay. From the next request. @throws account_not_found, account_closed */
export const setAccountLimits = mutation(
  'accounts.set-limits',
  z.strictObject({ ...accountLimitsFields, account: z.string() }),
  async (deps, { account, ...stated }, act): Promise<AmendedAccountRecord> => {
    const { id } = await findAccount(deps, account)
    const limits = statedLimits(stated)
    const warnings = maskWarnings(deps.store, limits.allowedModels ?? null)
    const { before, after } = await deps.store.accounts.amend(id, { limits }, act(id))
    return { ...renderAccount(after), changes: limitChanges(before, after), warnings }
  },
)

/**
 * Revokes the keys of an account, each as an act of its own, and ends it: its books stay. Where it stops, what was revoked stays
 * so, and it can be closed again. @throws account_not_found, account_closed, invalid_request, also where a key was issued meanwhile
 */
export const closeAccount = mutation(
  'accounts.close',
  z.strictObject({ account: z.string() }),
  async (deps, { account }, act): Promise<AccountRecord & { readonly revoked_keys: number }> => {
    const found = await findOpenAccount(deps, account)
    if (found.name === DEFAULT_ACCOUNT_NAME) {
      throw new GatewayError(
        'invalid_request',
        `account ${DEFAULT_ACCOUNT_NAME} stays open: commands without --account act on it`,
        { param: 'account' },
      )
    }
    let revoked = 0
    for (const key of await listAllKeys(deps, false, found.id)) {
      const revocation = act(key.id, describeRevocation(key))
      const { accountId } = await deps.store.keys.revoke(key.id, revocation, found.id)
      if (accountId === found.id) revoked += 1
    }
    const closed = await deps.store.accounts.close(found.id, act(found.id, { name: found.name }))
    return { ...renderAccount(closed), revoked_keys: revoked }
  },
)

/** From its next request the key is another account's. @throws account_not_found, account_closed, key_not_found, key_revoked */
export const moveKey = mutation(
  'accounts.move-key',
  z.strictObject({ account: scopeField, key: textField, to: z.string() }),
  async (deps, input, act): Promise<OperatorKeyRecord & { readonly moved_from: string }> => {
    const key = await findKey(deps, input.key, input.account)
    const from = await accountNameOf(deps, key.accountId)
    const to = await findAccount(deps, input.to)
    const changed = { account: { from, to: to.name } }
    const { after } = await deps.store.keys.move(key.id, to.id, act(key.id, changed))
    return { ...(await reportKey(deps, after)), moved_from: from }
  },
)
