/** Finds an account by its id, or by its exact name; or all that are open. */
import { type Account, accountClosed, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { suggest } from '#forms/nearest.ts'
import type { OperatorDeps } from './deps.ts'

/** The account that a scope field names; null where it names none, unless a person's own is the only one. @throws account_not_found */
export async function findScope(deps: OperatorDeps, scope: string | null): Promise<Account | null> {
  if (scope !== null) return await findAccount(deps, scope)
  return deps.actor === undefined ? null : await findAccount(deps, deps.actor.accountId)
}

/** The name to show for the owner of something; its id where the account is gone. */
export const accountNameOf = async (
  { store }: Pick<OperatorDeps, 'store'>,
  id: AccountId,
): Promise<string> => (await store.accounts.find(id))?.name ?? id

/** A closed account is history, which no file states and nobody looks after. */
export const openAccounts = async ({ store }: OperatorDeps): Promise<readonly Account[]> =>
  (await store.accounts.list()).filter(({ closedAt }) => closedAt === null)

/** One that is closed gets nothing more. @throws account_not_found, account_closed */
export async function findOpenAccount(deps: OperatorDeps, text: string): Promise<Account> {
  const account = await findAccount(deps, text)
  if (account.closedAt !== null) throw accountClosed(account)
  return account
}

/** To a person, another account than their own is none. @throws account_not_found */
export async function findAccount({ store, actor }: OperatorDeps, text: string): Promise<Account> {
  const { accounts } = store
  const account = (await accounts.find(text as AccountId)) ?? (await accounts.findByName(text))
  if (account && (actor === undefined || account.id === actor.accountId)) return account
  if (actor !== undefined) {
    throw new GatewayError('account_not_found', `no account is called "${text}"`)
  }
  const names = (await accounts.list()).map(({ name }) => name)
  const suggestion = suggest(text, names)
  throw new GatewayError('account_not_found', `no account is called "${text}"${suggestion}`, {
    hint: text === DEFAULT_ACCOUNT_NAME ? 'gatewayctl init' : 'gatewayctl accounts list',
  })
}
