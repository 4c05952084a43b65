/** Finds a key by id, exact name, or displayed prefix (cli grammar). */

import type { Account } from '#domain/account.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { statedIn } from '#domain/stated.ts'
import { didYouMean, nearest } from '#forms/nearest.ts'
import { shellWord } from '#forms/shell-word.ts'
import { sees } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findAccount, findScope } from './find-account.ts'
import { shownEndOf } from './shown-id.ts'

const MAX_CANDIDATES = 10
const MAX_NAMES = 1_000

/**
 * Only among the keys of the account that `scope` names, and that there are for the actor; null is every account.
 * @throws account_not_found; key_not_found, also when several keys match: the message then lists them
 */
export async function findKey(
  deps: OperatorDeps,
  text: string,
  scope: string | null,
): Promise<ApiKey> {
  const account = await findScope(deps, scope)
  const stated = await deps.store.keys.search(text, MAX_CANDIDATES, account?.id)
  const end = stated.length > 0 ? null : shownEndOf('key_', text)
  const all = end === null ? stated : await endingIn(deps, end, account)
  const found = all.filter((key) => sees(deps.actor, key))
  const byId = found.find(({ id }) => id === text)
  if (byId) return byId
  const named = found.filter(({ name }) => name === text)
  // Keys of old may have a name that reads as what is shown of another's secret.
  const candidates = named.length > 0 && !text.startsWith('if-') ? named : found
  // A name can be reused after its key was revoked; active keys take precedence.
  const active = candidates.filter(({ revokedAt }) => revokedAt === null)
  const meant = active.length > 0 ? active : candidates
  const [only, another] = meant
  if (only === undefined) throw await notFound(deps, text, account)
  if (another === undefined) return only
  const lines: string[] = []
  for (const key of meant) lines.push(await describeKey(deps, key))
  throw new GatewayError('key_not_found', `"${text}" means several keys\n${lines.join('\n')}`, {
    hint: 'name one by its id',
  })
}

/** For records, of which a key that was moved has left some in the account that it was of: that key, where it is the only one. @throws account_not_found, key_not_found */
export async function findKeyOfRecords(
  deps: OperatorDeps,
  text: string,
  scope: string | null,
): Promise<ApiKey> {
  try {
    return await findKey(deps, text, scope)
  } catch (thrown) {
    const within = scope ?? deps.actor?.accountId ?? null
    if (within === null) throw thrown
    const { id: accountId } = await findAccount(deps, within)
    const found = await deps.store.keys.search(text, MAX_CANDIDATES)
    if (found.some((key) => key.accountId === accountId)) throw thrown
    const left: ApiKey[] = []
    for (const key of found) if (await hasRecords(deps, accountId, key.id)) left.push(key)
    const [only, another] = left
    if (only === undefined || another !== undefined) throw thrown
    return only
  }
}

/** A charge, or a request that was refused. */
async function hasRecords(
  { store }: OperatorDeps,
  accountId: AccountId,
  keyId: KeyId,
): Promise<boolean> {
  const query = { accountId, keyId, limit: 1 }
  return (
    (await store.ledger.list(query)).length > 0 || (await store.activity.list(query)).length > 0
  )
}

/** As a list shows its id; at most `MAX_CANDIDATES`. */
async function endingIn(
  { store }: OperatorDeps,
  end: string,
  account: Account | null,
): Promise<readonly ApiKey[]> {
  const found: ApiKey[] = []
  let after: KeyId | undefined
  do {
    const page = await store.keys.list({
      includeRevoked: true,
      limit: MAX_NAMES,
      ...statedIn({ accountId: account?.id, after }),
    })
    found.push(...page.keys.filter(({ id }) => id.endsWith(end)))
    after = page.hasMore ? page.keys.at(-1)?.id : undefined
  } while (after !== undefined && found.length < MAX_CANDIDATES)
  return found.slice(0, MAX_CANDIDATES)
}

const describeKey = async (deps: OperatorDeps, { name, id, label, accountId }: ApiKey) =>
  `${name} (${id}, ${label}) of account ${await accountNameOf(deps, accountId)}`

async function notFound(
  deps: OperatorDeps,
  text: string,
  account: Account | null,
): Promise<GatewayError> {
  const { keys } = deps.store
  if (deps.actor !== undefined) return noSuchKey(`no key is called "${text}"`)
  if (account !== null) {
    const [elsewhere, another] = await keys.search(text, 2)
    if (elsewhere !== undefined && another === undefined) {
      const { name, id, accountId } = elsewhere
      const owner = await accountNameOf(deps, accountId)
      return noSuchKey(`key ${name} (${id}) is of account ${owner}, not of ${account.name}`, {
        hint: `repeat it with --account ${shellWord(owner)}`,
      })
    }
  }
  const known = await keys.list({
    includeRevoked: false,
    limit: MAX_NAMES,
    ...statedIn({ accountId: account?.id }),
  })
  const name = nearest(
    text,
    known.keys.map((key) => key.name),
  )
  const meant = known.keys.find((key) => key.name === name)
  const suggestion = didYouMean(meant && `${meant.name} (${meant.id})`)
  const where = account === null ? '' : ` in account ${account.name}`
  return noSuchKey(`no key is called "${text}"${where}${suggestion}`)
}

const noSuchKey = (
  message: string,
  { hint }: { readonly hint: string } = { hint: 'gatewayctl keys list' },
): GatewayError => new GatewayError('key_not_found', message, { hint })
