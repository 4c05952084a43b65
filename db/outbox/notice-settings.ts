/** The settings of notices. */
import type { Act } from '#domain/act.ts'
import {
  type ChangedNoticeSettings,
  DEFAULT_NOTICE_SETTINGS,
  describeNoticeSettings,
  heldAnew,
  type NoticeSettings,
  type NoticeSettingsChange,
} from '#domain/notice-settings.ts'
import { keptSecret, type WebhookSecretOffer } from '#domain/webhook-secret.ts'
import { noteAct } from '../log/acts.ts'
import { requireVault } from '../require-vault.ts'
import { type Engine, get, run, type Statements } from '../statements.ts'

type SettingsRow = {
  readonly email: string | null
  readonly webhook_url: string | null
  readonly sealed_webhook_secret: string | null
  readonly ceiling_percents: string
  readonly quiet_from: number | null
  readonly quiet_until: number | null
  readonly digest_at: number | null
  readonly wakes_for_critical: number
}

const PLACE = 'notice_settings|webhook_secret|v1'

const toSettings = (row: SettingsRow | null): NoticeSettings =>
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

const toRow = (settings: NoticeSettings): Omit<SettingsRow, 'sealed_webhook_secret'> => ({
  email: settings.email,
  webhook_url: settings.webhookUrl,
  ceiling_percents: JSON.stringify(settings.ceilingPercents),
  quiet_from: settings.quiet?.from ?? null,
  quiet_until: settings.quiet?.until ?? null,
  digest_at: settings.digestAt,
  wakes_for_critical: settings.wakesForCritical ? 1 : 0,
})

const readRow = (): Statements<SettingsRow | null> => get('SELECT * FROM notice_settings')

export function* readSettings(): Statements<NoticeSettings> {
  return toSettings(yield* readRow())
}

/** In the transaction of the change. */
export function* changeSettings(
  engine: Pick<Engine, 'vault'>,
  change: NoticeSettingsChange,
  offer: WebhookSecretOffer | undefined,
  act: Act,
): Statements<ChangedNoticeSettings> {
  const known = yield* readRow()
  const before = toSettings(known)
  const after = { ...before, ...change }
  const standing = known?.sealed_webhook_secret ?? null
  const { sealed, isNew } = keptSecret(after.webhookUrl, standing, offer, (secret) =>
    requireVault(engine).seal(secret, PLACE),
  )
  yield* run('DELETE FROM notice_settings')
  yield* run(
    `INSERT INTO notice_settings (id, email, webhook_url, sealed_webhook_secret, ceiling_percents, quiet_from,
       quiet_until, digest_at, wakes_for_critical)
     VALUES (1, $email, $webhook_url, $sealed_webhook_secret, $ceiling_percents, $quiet_from, $quiet_until, $digest_at,
       $wakes_for_critical)`,
    { ...toRow(after), sealed_webhook_secret: sealed },
  )
  for (const [severity, until] of heldAnew(change, after, act.at)) {
    yield* run(
      'UPDATE events SET held_until = $until WHERE held_until IS NOT NULL AND severity = $severity',
      { severity, until },
    )
  }
  const changed = { before, after, hasNewSecret: isNew }
  yield* noteAct(act, describeNoticeSettings(changed))
  return changed
}

export async function webhookSecret(engine: Engine): Promise<string | null> {
  const sealed = (await engine.read(readRow))?.sealed_webhook_secret
  return sealed ? requireVault(engine).open(sealed, PLACE) : null
}
