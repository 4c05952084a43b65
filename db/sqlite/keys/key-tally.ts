/** How many keys there are: counted once, then kept, because counting a hundred thousand of them stalls every stream. */
import type { AccountId } from '#domain/id.ts'
import type { ApiKey, KeyQuery } from '#domain/key.ts'
import { all, type Statements } from '../../statements.ts'

export interface KeyTally {
  /** How many a whole list has. */
  count(query: Pick<KeyQuery, 'accountId' | 'includeRevoked'>): Statements<number>
  /** Call it when a change of a key is committed; `before` is null for a new one. */
  changed(before: ApiKey | null, after: ApiKey): void
}

interface Tally {
  readonly accountId: AccountId
  all: number
  revoked: number
}

const COUNT = `SELECT account_id AS accountId, count(*) AS "all", count(revoked_at) AS revoked
  FROM keys GROUP BY account_id`

/** Counts nothing until it is asked: most commands and most servers never list. */
export function openKeyTally(): KeyTally {
  let tallies: Map<AccountId, Tally> | null = null

  const add = ({ accountId, revokedAt }: ApiKey, keys: 1 | -1): void => {
    const tally = tallies?.get(accountId) ?? { accountId, all: 0, revoked: 0 }
    tally.all += keys
    if (revokedAt !== null) tally.revoked += keys
    tallies?.set(accountId, tally)
  }

  return {
    *count({ accountId, includeRevoked }) {
      tallies ??= new Map((yield* all<Tally>(COUNT)).map((tally) => [tally.accountId, tally]))
      let sum = 0
      for (const one of tallies.values()) {
        if (accountId !== undefined && one.accountId !== accountId) continue
        sum += includeRevoked ? one.all : one.all - one.revoked
      }
      return sum
    },
    changed(before, after) {
      if (before !== null) add(before, -1)
      add(after, 1)
    },
  }
}
