/** Lists keys; in a file of its own so that this most frequent command loads quickly. */

import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { type KeyRecord, renderKey, withSpending } from '#domain/key-report.ts'
import { statedIn } from '#domain/stated.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import type { PersonId } from '#signin/register/person.ts'
import { makerOf, sees } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findAccount } from './find-account.ts'
import {
  type KeyListQuery,
  type KeyOrder,
  readKeyListQuery,
  type SentKeyListQuery,
} from './key-list-query.ts'
import type { Verb } from './verb.ts'

export interface OperatorKeyRecord extends KeyRecord {
  /** The name of the account. */
  readonly account: string
  readonly note: string | null
  /** The address of the person who made it in the cabinet, or the id of one who is gone; null for any other. */
  readonly made_by: string | null
}

const PAGE_KEYS = 200

/** What a key has used is read of those that are listed alone, unless they are in the order of it. @throws account_not_found */
export const listKeys: Verb<SentKeyListQuery, KeyListQuery, readonly OperatorKeyRecord[]> = {
  read: readKeyListQuery,
  async run(deps, { account: name, include_revoked, kind, matching, sort, skip, limit }) {
    const account = await findAccount(deps, name)
    const isAsListed = kind === null && matching === '' && sort === 'created'
    const most = isAsListed ? skip + limit : undefined
    const all = await listAllKeys(deps, include_revoked, account.id, most)
    const ofKind = kind === null ? all : all.filter((key) => key.kind === kind)
    const keys = inOrder(matching === '' ? ofKind : await search(deps, ofKind, matching), sort)
    if (sort !== 'spend') return await reportKeys(deps, keys.slice(skip, skip + limit))
    const records = await reportKeys(deps, keys)
    return records
      .toSorted((a, b) => Number(b.usage.spend_day_usd) - Number(a.usage.spend_day_usd))
      .slice(skip, skip + limit)
  },
}

async function search(
  deps: OperatorDeps,
  keys: readonly ApiKey[],
  text: string,
): Promise<readonly ApiKey[]> {
  const makers = new Map<string, string>()
  for (const { madeBy } of keys) {
    if (madeBy !== null && !makers.has(madeBy)) makers.set(madeBy, await makerNameOf(deps, madeBy))
  }
  const wanted = text.toLowerCase()
  return keys.filter(({ name, label, note, madeBy }) =>
    [name, label, note ?? '', (madeBy && makers.get(madeBy)) ?? ''].some((part) =>
      part.toLowerCase().includes(wanted),
    ),
  )
}

/** They come newest first. */
function inOrder(keys: readonly ApiKey[], order: KeyOrder): readonly ApiKey[] {
  switch (order) {
    case 'name':
      return keys.toSorted((a, b) => a.name.localeCompare(b.name))
    case 'used':
      return keys.toSorted((a, b) => (b.lastUsedAt ?? 0) - (a.lastUsedAt ?? 0))
    default:
      return keys
  }
}

/** All keys of one account or of all that there are for the actor, newest first, or so many of them at least. Requests pass between two pages. */
export async function listAllKeys(
  { store, actor }: OperatorDeps,
  includeRevoked: boolean,
  accountId?: AccountId,
  least = Number.POSITIVE_INFINITY,
): Promise<ApiKey[]> {
  const all: ApiKey[] = []
  let after: KeyId | undefined
  for (;;) {
    const page = await store.keys.list({
      includeRevoked,
      // Of a member's own there may be few in a page.
      limit: makerOf(actor) === undefined ? Math.min(PAGE_KEYS, least) : PAGE_KEYS,
      ...statedIn({ accountId, after }),
    })
    all.push(...page.keys.filter((key) => sees(actor, key)))
    after = page.keys.at(-1)?.id
    if (!page.hasMore || after === undefined || all.length >= least) return all
    await idleTurn()
  }
}

/** The record of a key with its current usage. */
export const reportKey = async (deps: OperatorDeps, key: ApiKey): Promise<OperatorKeyRecord> =>
  (await reportKeys(deps, [key]))[0] as OperatorKeyRecord

async function reportKeys(
  deps: OperatorDeps,
  keys: readonly ApiKey[],
): Promise<readonly OperatorKeyRecord[]> {
  const { store, clock } = deps
  const names = new Map<AccountId, string>()
  const makers = new Map<string, string>()
  const records: OperatorKeyRecord[] = []
  for (let first = 0; first < keys.length; first += PAGE_KEYS) {
    if (first > 0) await idleTurn()
    const page = keys.slice(first, first + PAGE_KEYS)
    const at = clock.now()
    for (const [key, spending] of await withSpending(store.admissions, page, at)) {
      const account = names.get(key.accountId) ?? (await accountNameOf(deps, key.accountId))
      names.set(key.accountId, account)
      const { note, madeBy } = key
      const made_by = madeBy && (makers.get(madeBy) ?? (await makerNameOf(deps, madeBy)))
      if (madeBy !== null && made_by !== null) makers.set(madeBy, made_by)
      records.push({ ...renderKey(key, spending, at), note, account, made_by })
    }
  }
  return records
}

const makerNameOf = async ({ store }: OperatorDeps, id: string): Promise<string> =>
  (await store.signin.people.find(id as PersonId))?.email ?? id
