/** The settings of notices in SQLite: read once, and by every event that is raised. */
import type { Severity } from '#domain/cause.ts'
import type { Instant } from '#domain/clock.ts'
import {
  type ChangedNoticeSettings,
  DEFAULT_NOTICE_SETTINGS,
  describeNoticeSettings,
  heldAnew,
  type NoticeSettings,
  type NoticeSettingsStore,
} from '#domain/notice-settings.ts'
import { requireVault } from '../../require-vault.ts'
import { PLACE, type SettingsRow, toRow, toSettings } from '../../rows/notice-settings-row.ts'
import { keptSecret } from '../../rows/webhook-secret.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export interface HeldNoticeSettings {
  /** As they are now; read from the table the first time. */
  current(): NoticeSettings
  /** Reads them again. */
  forget(): void
}

const prepareRow = ({ database }: Connection) =>
  statement<SettingsRow, []>(database, 'SELECT * FROM notice_settings')

export function holdNoticeSettings(connection: Connection): HeldNoticeSettings {
  const row = prepareRow(connection)
  let held: NoticeSettings | null = null
  return {
    current() {
      if (held !== null) return held
      const found = row().get()
      try {
        held = toSettings(found)
      } catch {
        // Of values that cannot be read: an event, and the charge beside it, must be written all the same.
        return DEFAULT_NOTICE_SETTINGS
      }
      return held
    },
    forget() {
      held = null
    },
  }
}

/** `changed` is called in the turn of a change. */
export function createNoticeSettings(
  connection: Connection,
  held: HeldNoticeSettings,
  changed: () => void,
): NoticeSettingsStore {
  const { database, commit } = connection
  const row = prepareRow(connection)
  const noteAct = prepareNoteAct(database)
  const write = statement<unknown, [SettingsRow]>(
    database,
    `INSERT OR REPLACE INTO notice_settings (id, email, webhook_url, sealed_webhook_secret, ceiling_percents, quiet_from,
       quiet_until, digest_at, wakes_for_critical)
     VALUES (1, $email, $webhook_url, $sealed_webhook_secret, $ceiling_percents, $quiet_from, $quiet_until, $digest_at,
       $wakes_for_critical)`,
  )

  const holdAnew = statement<unknown, [Instant, Severity]>(
    database,
    'UPDATE events SET held_until = ? WHERE held_until IS NOT NULL AND severity = ?',
  )

  return {
    async find() {
      return held.current()
    },

    set: (change, offer, act) =>
      commit.commitDurably<ChangedNoticeSettings>(
        () => {
          const known = row().get()
          const before = toSettings(known)
          const after = { ...before, ...change }
          const standing = known?.sealed_webhook_secret ?? null
          const { sealed, isNew } = keptSecret(after.webhookUrl, standing, offer, (secret) =>
            requireVault(connection).seal(secret, PLACE),
          )
          write().run({ ...toRow(after), sealed_webhook_secret: sealed })
          for (const [severity, until] of heldAnew(change, after, act.at)) {
            holdAnew().run(until, severity)
          }
          const changed = { before, after, hasNewSecret: isNew }
          noteAct(act, describeNoticeSettings(changed))
          return changed
        },
        () => {
          held.forget()
          changed()
        },
      ),

    async webhookSecret() {
      const sealed = row().get()?.sealed_webhook_secret
      return sealed ? requireVault(connection).open(sealed, PLACE) : null
    },
  }
}
