/** Says which account a table is of, where there are several. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { clean } from './clean.ts'
import { printNote } from './output.ts'

export interface Scope {
  /** Whether rows may be of several accounts, so that each has to say of which. */
  readonly isMixed: boolean
  nameOf(accountId: string): string
}

type Account = VerbRecord<'accounts.list'>[number]

/** `usual` is what the command covers without `--account`. Asks for the accounts only where the note is shown and they are not `known`. */
export async function noteScope(
  context: Context,
  usual: 'default account' | 'all accounts',
  known: readonly Account[] | null = null,
): Promise<Scope> {
  if (context.json || context.quiet) return toScope([], false)
  const accounts = known ?? (await call(context, 'accounts.list', {}))
  const stated = context.accountInput.account
  const isMixed = stated === undefined && usual === 'all accounts' && accounts.length > 1
  if (accounts.length > 1) printNote(context, wordsOf(accounts, stated, usual))
  return toScope(accounts, isMixed)
}

function wordsOf(accounts: readonly Account[], stated: string | undefined, usual: string): string {
  if (stated !== undefined) {
    const found = accounts.find(({ name, id }) => name === stated || id === stated)
    return `account ${clean(found?.name ?? stated)}`
  }
  return usual === 'all accounts'
    ? `all ${accounts.length} accounts; one alone: --account NAME`
    : `account default, one of ${accounts.length}; another: --account NAME`
}

const toScope = (accounts: readonly Account[], isMixed: boolean): Scope => ({
  isMixed,
  nameOf: (accountId) => accounts.find(({ id }) => id === accountId)?.name ?? accountId,
})
