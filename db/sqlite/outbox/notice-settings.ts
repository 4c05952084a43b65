/** The settings of notices in SQLite: read once, and by every event that is raised. */
import {
  type ChangedNoticeSettings,
  DEFAULT_NOTICE_SETTINGS,
  describeNoticeSettings,
  type NoticeSettings,
  type NoticeSettingsStore,
} from '#domain/notice-settings.ts'
import type { Connection } from '../engine/connection.ts'
import { requireVault } from '../engine/require-vault.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'

export type SettingsRow = {
  readonly email: string | null
  readonly webhook_url: string | null
  readonly sealed_webhook_secret: string | null
  readonly ceiling_percents: string
  readonly quiet_from: number | null
  readonly quiet_until: number | null
  readonly digest_at: number | null
  readonly wakes_for_critical: number
}

export interface HeldNoticeSettings {
  /** As they are now; read from the table the first time. */
  current(): NoticeSettings
  /** Reads them again. */
  forget(): void
}

export const PLACE = 'notice_settings|webhook_secret|v1'

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
          const sealed = known?.sealed_webhook_secret ?? null
          const takesOffer =
            after.webhookUrl !== null && (sealed === null || offer?.rotates === true)
          const secret = takesOffer ? offer?.secret : undefined
          write().run({
            ...toRow(after),
            sealed_webhook_secret:
              after.webhookUrl === null
                ? null
                : secret === undefined
                  ? sealed
                  : requireVault(connection).seal(secret, PLACE),
          })
          const changed = { before, after, hasNewSecret: secret !== undefined }
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

export const toSettings = (row: SettingsRow | null): NoticeSettings =>
  row === null
    ? DEFAULT_NOTICE_SETTINGS
    : {
        email: row.email,
        webhookUrl: row.webhook_url,
        ceilingPercents: JSON.parse(row.ceiling_percents),
        quiet:
          row.quiet_from === null || row.quiet_until === null
            ? null
            : { from: row.quiet_from, until: row.quiet_until },
        digestAt: row.digest_at,
        wakesForCritical: row.wakes_for_critical === 1,
      }

export const toRow = (settings: NoticeSettings): Omit<SettingsRow, 'sealed_webhook_secret'> => ({
  email: settings.email,
  webhook_url: settings.webhookUrl,
  ceiling_percents: JSON.stringify(settings.ceilingPercents),
  quiet_from: settings.quiet?.from ?? null,
  quiet_until: settings.quiet?.until ?? null,
  digest_at: settings.digestAt,
  wakes_for_critical: settings.wakesForCritical ? 1 : 0,
})
