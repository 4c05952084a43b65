/** The lock of an account: no request of it is admitted or settled until the transaction ends. */
import type { AccountId } from '#domain/id.ts'
import type { Sql } from '../engine/database.ts'

/** By itself: what a statement reads beside the row that it locks is of before it had the lock. */
export async function lockAccount(tx: Sql, id: AccountId): Promise<void> {
  await tx.get('SELECT 1 FROM account_state WHERE account_id = ? FOR UPDATE', id)
}
