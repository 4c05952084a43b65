/** Lists keys; in a file of its own so that this most frequent command loads quickly. */
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { type KeyRecord, renderKey } from '#domain/key-report.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findAccount } from './find-account.ts'
import { type KeyListQuery, readKeyListQuery, type SentKeyListQuery } from './key-list-query.ts'
import type { Verb } from './verb.ts'

export interface OperatorKeyRecord extends KeyRecord {
  /** The name of the account. */
  readonly account: string
  readonly note: string | null
}

const PAGE_KEYS = 500

/** Newest first. @throws account_not_found */
export const listKeys: Verb<SentKeyListQuery, KeyListQuery, readonly OperatorKeyRecord[]> = {
  read: readKeyListQuery,
  async run(deps, query) {
    const account = await findAccount(deps, query.account)
    const keys = await listAllKeys(deps, query.include_revoked, account.id)
    const wanted = query.kind === null ? keys : keys.filter(({ kind }) => kind === query.kind)
    return await Promise.all(wanted.map((key) => reportKey(deps, key)))
  },
}

/** All keys of one account or of all, newest first. */
export async function listAllKeys(
  { store }: OperatorDeps,
  includeRevoked: boolean,
  accountId?: AccountId,
): Promise<ApiKey[]> {
  const all: ApiKey[] = []
  let after: KeyId | undefined
  for (;;) {
    const page = await store.keys.list({
      includeRevoked,
      limit: PAGE_KEYS,
      ...(accountId === undefined ? {} : { accountId }),
      ...(after === undefined ? {} : { after }),
    })
    all.push(...page.keys)
    after = page.keys.at(-1)?.id
    if (!page.hasMore || after === undefined) return all
  }
}

/** The record of a key with its current usage. */
export async function reportKey(deps: OperatorDeps, key: ApiKey): Promise<OperatorKeyRecord> {
  const { store, clock } = deps
  const at = clock.now()
  return {
    ...renderKey(key, await store.admissions.spending(key.id, at), at),
    note: key.note,
    account: await accountNameOf(deps, key.accountId),
  }
}
