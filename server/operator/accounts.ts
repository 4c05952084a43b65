/** Accounts, as an operator sees them. */
import * as z from 'zod/mini'
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { renderUsd } from '#domain/money.ts'
import type { Office } from './office.ts'
import { verb } from './verb.ts'

export interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly balance_usd: string
  readonly created_at: string
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

/** @throws account_not_found */
export async function findAccount({ store }: Office, name: string): Promise<Account> {
  const account = await store.accounts.findByName(name)
  if (account) return account
  throw new GatewayError('account_not_found', `no account is called "${name}"`, {
    hint: name === DEFAULT_ACCOUNT_NAME ? 'gatewayctl init' : 'gatewayctl accounts list',
  })
}
