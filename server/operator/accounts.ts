/** Verbs for accounts: list, create, show. */
import * as z from 'zod/mini'
import type { Account } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { newAccountId } from '#domain/id.ts'
import { NO_MONEY, renderUsd } from '#domain/money.ts'
import { nameField } from '#forms/fields.ts'
import { findAccount } from './find-account.ts'
import { renderThreshold, type ThresholdRecord } from './threshold-record.ts'
import { mutation, verb } from './verb.ts'

export interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly balance_usd: string
  readonly created_at: string
}

export interface AccountDetailsRecord extends AccountRecord, ThresholdRecord {
  /** Those that are not revoked. */
  readonly keys: number
}

const renderAccount = ({ id, name, balance, createdAt }: Account): AccountRecord => ({
  id,
  name,
  balance_usd: renderUsd(balance),
  created_at: renderInstant(createdAt),
})

/** Oldest first. */
export const listAccounts = verb(z.strictObject({}), async ({ store }) =>
  (await store.accounts.list()).map(renderAccount),
)

/** The new account has no balance and no keys. @throws already_exists */
export const createAccount = mutation(
  'accounts.create',
  z.strictObject({ name: nameField }),
  async ({ store, clock }, { name }): Promise<AccountRecord> => {
    const at = clock.now()
    const account = { id: newAccountId(at), name, createdAt: at, balance: NO_MONEY }
    await store.accounts.create(account)
    return renderAccount(account)
  },
  (_, { id, name }) => ({ target: id, changed: { name } }),
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
