/** Tells of the marks that charges have passed: a settlement has written what happened, and here it gets its words. */
import type { Catalogues } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import { type AccountId, type KeyId, newEventId } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { tellLowBalance } from '../../money/low-balance.ts'
import { readSettings } from '../../outbox/notice-settings.ts'
import { raise } from '../../outbox/raise.ts'
import { type ThresholdRow, toThreshold } from '../../rows/low-balance.ts'
import {
  type BeyondHold,
  ceilingOfAccount,
  ceilingOfEndUser,
  ceilingOfKey,
  chargedBeyondHold,
  type PassedCeiling,
} from '../../rows/mark-events.ts'
import type { Database, Sql } from '../engine/database.ts'
import { send } from '../engine/engine.ts'

export interface Marks {
  /** All that are left; whichever node comes first. */
  tell(): Promise<void>
}

interface MarkRow {
  readonly kind: 'low_balance' | 'beyond_hold' | 'key' | 'account' | 'end_user'
  readonly fact: string
}

interface LowBalance {
  readonly accountId: AccountId
  readonly at: Instant
  readonly balance: number
  readonly below: number
}

type BeyondHoldFact = Omit<BeyondHold, 'held' | 'charged'> & {
  readonly held: number
  readonly charged: number
}

type Ceiling = Omit<PassedCeiling, 'ceiling' | 'spent'> & {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly endUser: string
  readonly ceiling: number
  readonly spent: number
  readonly at: Instant
}

export const openMarks = (database: Database, catalogue: Catalogues): Marks => ({
  async tell() {
    if ((await database.get('SELECT 1 FROM passed_marks LIMIT 1')) === null) return
    await database.change(async (tx) => {
      const rows = await tx.all<MarkRow & { readonly id: number }>(
        'SELECT id, kind, fact FROM passed_marks ORDER BY id',
      )
      for (const row of rows) await tellMark(tx, catalogue, row)
      await tx.run(
        'DELETE FROM passed_marks WHERE id = ANY (?::bigint[])',
        rows.map(({ id }) => id),
      )
    })
  },
})

async function tellMark(tx: Sql, catalogue: Catalogues, { kind, fact }: MarkRow): Promise<void> {
  const read = JSON.parse(fact)
  if (kind === 'low_balance') await tellOfBalance(tx, catalogue, read)
  else if (kind === 'beyond_hold') await send(tx, raise(beyondHold(read), readSettings))
  else await send(tx, raise(await ceilingPassed(tx, kind, read), readSettings))
}

const usd = (nanos: number): UsdNanos => BigInt(nanos) as UsdNanos

async function tellOfBalance(tx: Sql, catalogue: Catalogues, fact: LowBalance): Promise<void> {
  const { accountId, at, balance, below } = fact
  const row = await tx.get<ThresholdRow>('SELECT * FROM thresholds WHERE account_id = ?', accountId)
  if (row === null) return
  const facts = { eventId: newEventId(at), accountId, at, balance: usd(balance), below: usd(below) }
  const channels = channelsOf(toThreshold(accountId, row))
  await send(tx, tellLowBalance(facts, channels, catalogue.current()))
}

const beyondHold = (fact: BeyondHoldFact): RaisedEvent =>
  chargedBeyondHold({ ...fact, held: usd(fact.held), charged: usd(fact.charged) })

async function ceilingPassed(
  tx: Sql,
  kind: 'key' | 'account' | 'end_user',
  fact: Ceiling,
): Promise<RaisedEvent> {
  const { accountId, keyId, endUser, at } = fact
  const passed = { ...fact, ceiling: usd(fact.ceiling), spent: usd(fact.spent) }
  const nameOf = async (table: 'accounts' | 'keys', id: string): Promise<string> =>
    (await tx.get<{ name: string }>(`SELECT name FROM ${table} WHERE id = ?`, id))?.name ?? id
  if (kind === 'account') {
    return ceilingOfAccount(accountId, await nameOf('accounts', accountId), passed, at)
  }
  const key = { accountId, id: keyId, name: await nameOf('keys', keyId) }
  return kind === 'key' ? ceilingOfKey(key, passed, at) : ceilingOfEndUser(key, endUser, passed, at)
}
