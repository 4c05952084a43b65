/** The settings of notices in PostgreSQL. */
import type { AccountId } from '#domain/id.ts'
import type { NoticeSettingsStore } from '#domain/notice-settings.ts'
import { changeSettings, readSettings, webhookSecret } from '../../outbox/notice-settings.ts'
import type { Engine } from '../../statements.ts'
import type { Database } from '../engine/database.ts'

export const createNoticeSettings = (database: Database, engine: Engine): NoticeSettingsStore => ({
  find: () => engine.read(readSettings),
  async set(change, offer, act) {
    const changed = await engine.change(() => changeSettings(engine, change, offer, act))
    // Also where they stay: the one before may have been cut off.
    if (change.ceilingPercents !== undefined) await forgetMarks(database)
    return changed
  },
  webhookSecret: () => webhookSecret(engine),
})

/** Accounts whose requests wait for one transaction. */
const SLICE = 100
const IS_MARKED = '(s.mark_day <> 0 OR s.mark_month <> 0)'
/** What has no ceiling has no mark that depends on the shares. */
const FORGET = [
  `UPDATE account_state s SET mark_day = 0, mark_month = 0 FROM accounts a
   WHERE s.account_id = ANY (?::text[]) AND a.id = s.account_id AND coalesce(a.daily, a.monthly) IS NOT NULL AND ${IS_MARKED}`,
  `UPDATE key_state s SET mark_day = 0, mark_month = 0 FROM keys k
   WHERE k.account_id = ANY (?::text[]) AND k.id = s.key_id AND coalesce(k.daily, k.monthly) IS NOT NULL AND ${IS_MARKED}`,
  `UPDATE end_user_days d SET mark = 0 FROM keys k JOIN key_state s ON s.key_id = k.id
   WHERE k.account_id = ANY (?::text[]) AND k.user_daily IS NOT NULL AND d.key_id = k.id AND d.day >= s.day - 1 AND d.mark <> 0`,
]

/** The marks of every ceiling are found out again, some accounts at a time: those first, as a settlement locks them. */
async function forgetMarks(database: Database): Promise<void> {
  let last = ''
  for (;;) {
    const ids = await database.transact(async (tx) => {
      const slice = await tx.all<{ id: AccountId }>(
        'SELECT account_id AS id FROM account_state WHERE account_id > ? ORDER BY account_id LIMIT ? FOR NO KEY UPDATE',
        last,
        SLICE,
      )
      const locked = slice.map(({ id }) => id)
      for (const sql of FORGET) await tx.run(sql, locked)
      return locked
    })
    const next = ids.at(-1)
    if (next === undefined) return
    last = next
  }
}
