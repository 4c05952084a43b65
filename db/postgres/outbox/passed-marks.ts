/** Tells of the marks that charges have passed: a settlement has written what happened, and here it gets its words. */
import type { Catalogues } from '#domain/catalogue.ts'
import { type Day, dayOf, dayStart, type Instant, renderDay, renderInstant } from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import { type AccountId, type GenerationId, type KeyId, newEventId } from '#domain/id.ts'
import type { LimitName } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Database, Sql } from '../engine/database.ts'
import { channelsOfRow, type ThresholdRow, tellLowBalance } from '../money/low-balance.ts'
import { raise } from './raise.ts'

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

interface BeyondHold {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly generationId: GenerationId
  readonly provider: string | null
  readonly model: string
  readonly held: number
  readonly charged: number
  readonly at: Instant
}

interface Ceiling {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly endUser: string
  readonly limit: LimitName
  readonly ceiling: number
  readonly spent: number
  readonly percent: number
  readonly ends: Day
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
  else if (kind === 'beyond_hold') await raise(tx, beyondHold(read))
  else await raise(tx, await ceilingPassed(tx, kind, read))
}

const usd = (nanos: number): UsdNanos => BigInt(nanos) as UsdNanos

async function tellOfBalance(tx: Sql, catalogue: Catalogues, fact: LowBalance): Promise<void> {
  const { accountId, at, balance, below } = fact
  const row = await tx.get<ThresholdRow>('SELECT * FROM thresholds WHERE account_id = ?', accountId)
  if (row === null) return
  const facts = { eventId: newEventId(at), accountId, at, balance: usd(balance), below: usd(below) }
  await tellLowBalance(tx, catalogue, facts, channelsOfRow(row))
}

const beyondHold = (fact: BeyondHold): RaisedEvent =>
  draftEvent(
    'gateway.charge_beyond_hold',
    {
      account_id: fact.accountId,
      key_id: fact.keyId,
      generation_id: fact.generationId,
      provider: fact.provider ?? '',
      model: fact.model,
      held_usd: renderUsd(usd(fact.held)),
      charged_usd: renderUsd(usd(fact.charged)),
      day: renderDay(dayOf(fact.at)),
    },
    fact.at,
  )

async function ceilingPassed(
  tx: Sql,
  kind: 'key' | 'account' | 'end_user',
  fact: Ceiling,
): Promise<RaisedEvent> {
  const { accountId, keyId, limit, percent, at } = fact
  const passed = {
    limit,
    limit_usd: renderUsd(usd(fact.ceiling)),
    used_usd: renderUsd(usd(fact.spent)),
    percent,
    resets_at: renderInstant(dayStart(fact.ends)),
  }
  const nameOf = async (table: 'accounts' | 'keys', id: string): Promise<string> =>
    (await tx.get<{ name: string }>(`SELECT name FROM ${table} WHERE id = ?`, id))?.name ?? id
  if (kind === 'account') {
    const account_name = await nameOf('accounts', accountId)
    return draftEvent(
      'gateway.account_ceiling',
      { account_id: accountId, account_name, ...passed },
      at,
    )
  }
  const ofKey = { account_id: accountId, key_id: keyId, key_name: await nameOf('keys', keyId) }
  return kind === 'key'
    ? draftEvent('gateway.key_ceiling', { ...ofKey, ...passed }, at)
    : draftEvent('gateway.end_user_ceiling', { ...ofKey, end_user: fact.endUser, ...passed }, at)
}
