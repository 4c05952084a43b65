/** Verbs for accounts: create, rename, show. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME, MEMBER_DAILY } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import { newAccountId } from '#domain/id.ts'
import { NO_MONEY, renderUsd } from '#domain/money.ts'
import { nameField, usdField } from '#forms/fields.ts'
import type { OperatorDeps } from './deps.ts'
import { findAccount } from './find-account.ts'
import { type AccountRecord, renderAccount } from './list-accounts.ts'
import { renderThreshold, type ThresholdRecord } from './threshold-record.ts'
import { mutation, verb } from './verb.ts'

export interface AccountDetailsRecord extends AccountRecord, ThresholdRecord {
  /** Those that are not revoked. */
  readonly keys: number
  /** What each key that a member makes may spend in a day at most. */
  readonly member_daily_usd: string
  readonly owners: readonly string[]
  readonly members: number
}

/** The new account has no balance and no keys. @throws already_exists */
export const createAccount = mutation(
  'accounts.create',
  z.strictObject({ name: nameField }),
  async ({ store, clock }, { name }, act): Promise<AccountRecord> => {
    const at = clock.now()
    const account = {
      id: newAccountId(at),
      name,
      createdAt: at,
      balance: NO_MONEY,
      memberDaily: null,
    }
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

/** What a member's own key may spend in a day at most; null is the usual amount. @throws account_not_found */
export const editAccount = mutation(
  'accounts.edit',
  z.strictObject({ account: z.string(), member_daily_usd: z.nullable(usdField) }),
  async (deps, { account, member_daily_usd }, act) => {
    const { id } = await findAccount(deps, account)
    const { before, after } = await deps.store.accounts.allow(id, member_daily_usd, act(id))
    return {
      ...renderAccount(after),
      member_daily_usd: renderUsd(after.memberDaily ?? MEMBER_DAILY),
      previous: { member_daily_usd: renderUsd(before.memberDaily ?? MEMBER_DAILY) },
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
      member_daily_usd: renderUsd(account.memberDaily ?? MEMBER_DAILY),
      ...(await peopleOf(deps, account)),
      ...renderThreshold(await store.thresholds.find(account.id)),
    }
  },
)

/** The addresses of its owners, and how many people belong to it. */
async function peopleOf({ store }: OperatorDeps, { id }: Account) {
  const memberships = await store.signin.memberships.ofAccount(id)
  const owners: string[] = []
  for (const { personId, role } of memberships) {
    const person = role === 'owner' ? await store.signin.people.find(personId) : undefined
    if (person !== undefined) owners.push(person.email)
  }
  return { owners, members: memberships.length }
}
