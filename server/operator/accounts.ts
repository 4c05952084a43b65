/** Verbs for accounts: create, rename, show. */
import * as z from 'zod/mini'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { newAccountId } from '#domain/id.ts'
import { NO_MONEY } from '#domain/money.ts'
import { nameField } from '#forms/fields.ts'
import { findAccount } from './find-account.ts'
import { type AccountRecord, renderAccount } from './list-accounts.ts'
import { renderThreshold, type ThresholdRecord } from './threshold-record.ts'
import { mutation, verb } from './verb.ts'

export interface AccountDetailsRecord extends AccountRecord, ThresholdRecord {
  /** Those that are not revoked. */
  readonly keys: number
}

/** The new account has no balance and no keys. @throws already_exists */
export const createAccount = mutation(
  'accounts.create',
  z.strictObject({ name: nameField }),
  async ({ store, clock }, { name }, act): Promise<AccountRecord> => {
    const at = clock.now()
    const account = { id: newAccountId(at), name, createdAt: at, balance: NO_MONEY }
    await store.accounts.create(account, act(account.id, { name }))
    return renderAccount(account)
  },
)

/**
 * Changes the name only; `default` keeps its name, because commands act on it where none is named.
 * @throws account_not_found, already_exists, invalid_request
 */
export const renameAccount = mutation(
  'accounts.rename',
  z.strictObject({ account: z.string(), name: nameField }),
  async (deps, { account, name }, act): Promise<AccountRecord & { readonly previous: string }> => {
    const found = await findAccount(deps, account)
    if (found.name === DEFAULT_ACCOUNT_NAME && name !== found.name) {
      throw new GatewayError(
        'invalid_request',
        `account ${DEFAULT_ACCOUNT_NAME} keeps its name: commands without --account act on it`,
        { param: 'account', hint: 'gatewayctl accounts create NAME' },
      )
    }
    const { before, after } = await deps.store.accounts.rename(found.id, name, act(found.id))
    return { ...renderAccount(after), previous: before.name }
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
      ...renderThreshold(await store.thresholds.find(account.id)),
    }
  },
)
