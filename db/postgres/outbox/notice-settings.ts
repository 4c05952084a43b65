/** The settings of notices in PostgreSQL. */
import {
  describeNoticeSettings,
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

  set: (change, offer, act) =>
    database.change(async (tx) => {
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
      await forgetMarks(tx)
      const changed = { before, after, hasNewSecret: isNew }
      await noteAct(tx, act, describeNoticeSettings(changed))
      return changed
    }),

  async webhookSecret() {
    const sealed = (await readRow(database))?.sealed_webhook_secret
    return sealed ? requireVault(database).open(sealed, PLACE) : null
  },
})

/** The marks of every ceiling are found out again: accounts first, as a settlement takes them. */
async function forgetMarks(tx: Sql): Promise<void> {
  await tx.all('SELECT 1 FROM account_state ORDER BY account_id FOR UPDATE')
  await tx.run('UPDATE account_state SET mark_day = 0, mark_month = 0')
  await tx.run('UPDATE key_state SET mark_day = 0, mark_month = 0')
  await tx.run('UPDATE end_user_days SET mark = 0 WHERE mark <> 0')
}
