/** Puts a notice in the outbox. */
import type { Notice } from '#domain/notice.ts'
import type { Sql } from '../engine/database.ts'

/** In the transaction of what causes it. One that is there is sent again: its body and its log stay. */
export async function writeNotice(tx: Sql, notice: Notice): Promise<void> {
  await tx.run(
    `INSERT INTO outbox (event_id, channel, account_id, type, body, created_at, state, tries, next_try_at)
     VALUES ($eventId, $channel, $accountId, $type, $body, $createdAt, $state, $tries, $nextTryAt)
     ON CONFLICT (event_id, channel) DO UPDATE
     SET state = excluded.state, tries = excluded.tries, next_try_at = excluded.next_try_at, lease_until = NULL, leased_by = NULL`,
    { ...notice },
  )
}
