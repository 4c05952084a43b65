/** The settings of notices in PostgreSQL. */
import type { AccountId } from '#domain/id.ts'
import {
  describeNoticeSettings,
  heldAnew,
  type NoticeSettings,
  type NoticeSettingsStore,
} from '#domain/notice-settings.ts'
import { requireVault } from '../../require-vault.ts'
import { PLACE, type SettingsRow, toRow, toSettings } from '../../rows/notice-settings-row.ts'
import { keptSecret } from '../../rows/webhook-secret.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'

const readRow = (sql: Sql): Promise<SettingsRow | null> =>
  sql.get<SettingsRow>('SELECT * FROM notice_settings')

export const readSettings = async (sql: Sql): Promise<NoticeSettings> =>
  toSettings(await readRow(sql))

export const createNoticeSettings = (database: Database): NoticeSettingsStore => ({
  find: () => readSettings(database),

  async set(change, offer, act) {
    const changed = await database.change(async (tx) => {
      const known = await readRow(tx)
      const before = toSettings(known)
      const after = { ...before, ...change }
      const standing = known?.sealed_webhook_secret ?? null
      const { sealed, isNew } = keptSecret(after.webhookUrl, standing, offer, (secret) =>
        requireVault(database).seal(secret, PLACE),
      )
      await tx.run('DELETE FROM notice_settings')
      await tx.run(
        `INSERT INTO notice_settings (id, email, webhook_url, sealed_webhook_secret, ceiling_percents, quiet_from,
           quiet_until, digest_at, wakes_for_critical)
         VALUES (1, $email, $webhook_url, $sealed_webhook_secret, $ceiling_percents, $quiet_from, $quiet_until, $digest_at,
           $wakes_for_critical)`,
        { ...toRow(after), sealed_webhook_secret: sealed },
      )
      for (const [severity, until] of heldAnew(change, after, act.at)) {
        await tx.run(
          'UPDATE events SET held_until = ? WHERE held_until IS NOT NULL AND severity = ?',
          ...[until, severity],
        )
      }
      const changed = { before, after, hasNewSecret: isNew }
      await noteAct(tx, act, describeNoticeSettings(changed))
      return changed
    })
    // Also where they stay: the one before may have been cut off.
    if (change.ceilingPercents !== undefined) await forgetMarks(database)
    return changed
  },

  async webhookSecret() {
    const sealed = (await readRow(database))?.sealed_webhook_secret
    return sealed ? requireVault(database).open(sealed, PLACE) : null
  },
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
