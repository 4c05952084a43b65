/** The mark in SQLite: judged in memory in the turn of a movement, written with its notices in the movement's transaction. */
import type { Catalogues } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import { type AccountId, newEventId } from '#domain/id.ts'
import {
  channelsOf,
  judgeLowBalance,
  type Mark,
  type Movement,
  type Threshold,
} from '#domain/low-balance.ts'
import type { UsdNanos } from '#domain/money.ts'
import { type Channel, draftNotices, type LowBalanceFacts } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { openOutboxTable } from '../outbox/outbox-table.ts'

/** A threshold as movements need it; an account that asks for no notice has none. */
export interface HotThreshold {
  readonly below: UsdNanos
  readonly channels: readonly Channel[]
  mark: Mark | null
}

/** What a movement did to the mark. */
export interface MarkChange {
  readonly accountId: AccountId
  readonly mark: Mark | null
  /** What a notice on each channel says; null where none is due. */
  readonly facts: Omit<LowBalanceFacts, 'rubPerUsd'> | null
  readonly channels: readonly Channel[]
}

export const toHotThreshold = (
  { below, ...where }: Pick<Threshold, 'below' | 'email' | 'webhookUrl'>,
  mark: Mark | null,
): HotThreshold | null => (below === null ? null : { below, channels: channelsOf(where), mark })

/** Null when the mark stays as it is; memory is the caller's to change. */
export function judgeMark(
  accountId: AccountId,
  { below, channels, mark }: HotThreshold,
  balance: UsdNanos,
  movement: Movement,
  at: Instant,
): MarkChange | null {
  const verdict = judgeLowBalance(balance, below, mark, movement, at)
  if (verdict.mark === mark) return null
  const facts = verdict.notify ? { eventId: newEventId(at), accountId, at, balance, below } : null
  return { accountId, mark: verdict.mark, facts, channels }
}

/** Writes a change of the mark; call it inside the transaction of the movement. */
export function prepareMarkWriter(
  { database }: Connection,
  catalogue: Catalogues,
): (change: MarkChange) => void {
  const outbox = openOutboxTable(database)
  const setMark = statement<unknown, [Instant | null, AccountId]>(
    database,
    'UPDATE thresholds SET notified_at = ? WHERE account_id = ?',
  )
  return ({ accountId, mark, facts, channels }) => {
    setMark().run(mark?.notifiedAt ?? null, accountId)
    if (facts === null) return
    const { rubPerUsd } = rateAt(catalogue.current(), facts.at)
    for (const notice of draftNotices({ ...facts, rubPerUsd }, channels)) outbox.write(notice)
  }
}
