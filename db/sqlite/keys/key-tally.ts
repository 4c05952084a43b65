/** How many keys there are: counted once, then kept, because counting a hundred thousand of them stalls every stream. */
import type { Database } from 'bun:sqlite'
import type { AccountId } from '#domain/id.ts'
import type { ApiKey, KeyQuery } from '#domain/key.ts'
import { statement } from '../engine/statement.ts'

export interface KeyTally {
  /** How many a whole list has. */
  count(query: Pick<KeyQuery, 'accountId' | 'includeRevoked'>): number
  /** Call it when the key is committed. */
  issued(key: ApiKey): void
  /** Call it when a key that is not revoked has changed its account. */
  moved(before: ApiKey, after: ApiKey): void
  /** Call it when the first revocation of the key is committed. */
  revoked(key: ApiKey): void
}

interface Tally {
  all: number
  revoked: number
}

interface TallyRow extends Tally {
  readonly accountId: AccountId
}

/** Counts nothing until it is asked: most commands and most servers never list. */
export function openKeyTally(database: Database): KeyTally {
  const read = statement<TallyRow>(
    database,
    `SELECT account_id AS accountId, count(*) AS "all", count(revoked_at) AS revoked
     FROM keys GROUP BY account_id`,
  )
  let tallies: Map<AccountId, Tally> | null = null

  const load = (): Map<AccountId, Tally> => {
    tallies ??= new Map(
      read()
        .all()
        .map(({ accountId, all, revoked }) => [accountId, { all, revoked }]),
    )
    return tallies
  }

  const issued = ({ accountId }: ApiKey): void => {
    const tally = tallies?.get(accountId)
    if (tally) tally.all++
    else tallies?.set(accountId, { all: 1, revoked: 0 })
  }

  return {
    count({ accountId, includeRevoked }) {
      const wanted =
        accountId === undefined ? [...load().values()] : [load().get(accountId) ?? NOTHING]
      return wanted.reduce(
        (sum, { all, revoked }) => sum + (includeRevoked ? all : all - revoked),
        0,
      )
    },
    issued,
    moved(before, after) {
      const tally = tallies?.get(before.accountId)
      if (tally) tally.all--
      issued(after)
    },
    revoked({ accountId }) {
      const tally = tallies?.get(accountId)
      if (tally) tally.revoked++
    },
  }
}

const NOTHING: Tally = { all: 0, revoked: 0 }
