/** The mark in SQLite: judged in memory in the turn of a movement, written with its notices in the movement's transaction. */
import type { Catalogues } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { draftNotices } from '#domain/notice.ts'
import { rateAt } from '#domain/rate.ts'
import { writeNotice } from '../../outbox/outbox.ts'
import type { MarkChange } from '../../rows/low-balance.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { statement } from '../engine/statement.ts'

/** Writes a change of the mark; call it inside the transaction of the movement. */
export function prepareMarkWriter(
  { database }: Connection,
  catalogue: Catalogues,
): (change: MarkChange) => void {
  const runNow = prepareRunNow(database)
  const setMark = statement<unknown, [Instant | null, AccountId]>(
    database,
    'UPDATE thresholds SET notified_at = ? WHERE account_id = ?',
  )
  return ({ accountId, mark, facts, channels }) => {
    setMark().run(mark?.notifiedAt ?? null, accountId)
    if (facts === null) return
    const { rubPerUsd } = rateAt(catalogue.current(), facts.at)
    for (const notice of draftNotices({ ...facts, rubPerUsd }, channels))
      runNow(writeNotice(notice))
  }
}
