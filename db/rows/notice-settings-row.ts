/** The settings of notices as their row and as the domain's noun. */
import { DEFAULT_NOTICE_SETTINGS, type NoticeSettings } from '#domain/notice-settings.ts'

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

export const PLACE = 'notice_settings|webhook_secret|v1'

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
