/** Finds an account by exact name or id. */
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { didYouMean, nearest } from '#forms/nearest.ts'
import type { OperatorDeps } from './deps.ts'

/** The account that a scope field names; null where it names none. @throws account_not_found */
export const findScope = async (
  deps: OperatorDeps,
  scope: string | null,
): Promise<Account | null> => (scope === null ? null : await findAccount(deps, scope))

/** The name to show for the owner of something; its id where the account is gone. */
export const accountNameOf = async ({ store }: OperatorDeps, id: AccountId): Promise<string> =>
  (await store.accounts.find(id))?.name ?? id

/** @throws account_not_found */
export async function findAccount({ store }: OperatorDeps, text: string): Promise<Account> {
  const { accounts } = store
  const account = (await accounts.findByName(text)) ?? (await accounts.find(text as AccountId))
  if (account) return account
  const names = (await accounts.list()).map(({ name }) => name)
  const meant = nearest(text, names)
  const suggestion = didYouMean(meant)
  throw new GatewayError('account_not_found', `no account is called "${text}"${suggestion}`, {
    hint: text === DEFAULT_ACCOUNT_NAME ? 'gatewayctl init' : 'gatewayctl accounts list',
  })
}
