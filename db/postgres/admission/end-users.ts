/** What the end users of a key have spent. */
import type { UsdNanos } from '#domain/money.ts'
import type { ReadEndUsers } from '../../tell-ceilings.ts'
import type { Database } from '../engine/database.ts'

export const prepareEndUserReader =
  (database: Database): ReadEndUsers =>
  async (id, day, least, limit) => {
    await database.flush()
    const rows = await database.all<{ end_user: string; spent: string }>(
      `SELECT end_user, spent_nanos::text AS spent FROM end_user_days WHERE key_id = ? AND day = ? AND spent_nanos >= ?
       ORDER BY spent_nanos DESC LIMIT ?`,
      id,
      day,
      least,
      limit,
    )
    return rows.map((row) => ({ endUser: row.end_user, spent: BigInt(row.spent) as UsdNanos }))
  }
