/** Where and when the gateway's operator is told: addresses, shares of a ceiling, quiet hours, a digest. */
import { parseAbsoluteUrl } from './absolute-url.ts'
import { type Act, type ActChanges, type Amended, changesBetween } from './act.ts'
import { type Severity, WORST_FIRST } from './cause.ts'
import { DAY_MS, dayOf, dayStart, type Instant, later, MINUTE_MS } from './clock.ts'
import type { WebhookSecretOffer } from './webhook-secret.ts'

/** A minute of the UTC day, from 0 to 1439. */
export type DayMinute = number

export interface NoticeSettings {
  readonly email: string | null
  /** https. The signing secret is stored encrypted and read only by the courier. */
  readonly webhookUrl: string | null
  /** Of a spend ceiling, ascending; empty tells nothing of ceilings. */
  readonly ceilingPercents: readonly number[]
  /** Nothing is sent in between, over midnight where it ends earlier than it begins. */
  readonly quiet: { readonly from: DayMinute; readonly until: DayMinute } | null
  /** Everything goes out together, once a day at this time; null sends each at once. */
  readonly digestAt: DayMinute | null
  /** Whether what is critical is sent at once all the same. */
  readonly wakesForCritical: boolean
}

export const DEFAULT_NOTICE_SETTINGS: NoticeSettings = {
  email: null,
  webhookUrl: null,
  ceilingPercents: [80, 100],
  quiet: null,
  digestAt: null,
  wakesForCritical: false,
}

/** When an event may be sent; null for at once. */
export function heldUntil(
  { quiet, digestAt, wakesForCritical }: NoticeSettings,
  severity: Severity,
  at: Instant,
): Instant | null {
  if (wakesForCritical && severity === 'critical') return null
  const digest = digestAt === null ? at : nextAt(digestAt, at)
  const due = quiet !== null && isWithin(quiet, digest) ? nextAt(quiet.until, digest) : digest
  return due === at ? null : due
}

/** Until when what is held already waits by other settings, for each severity; nothing where they hold as before. */
export function heldAnew(
  change: NoticeSettingsChange,
  after: NoticeSettings,
  at: Instant,
): readonly (readonly [Severity, Instant])[] {
  const { quiet, digestAt, wakesForCritical } = change
  if (quiet === undefined && digestAt === undefined && wakesForCritical === undefined) return []
  return WORST_FIRST.map((severity) => [severity, heldUntil(after, severity, at) ?? at] as const)
}

const minuteOf = (at: Instant): number => (at % DAY_MS) / MINUTE_MS

function isWithin({ from, until }: { from: DayMinute; until: DayMinute }, at: Instant): boolean {
  const minute = minuteOf(at)
  return from <= until ? minute >= from && minute < until : minute >= from || minute < until
}

/** The next time that the clock says so, after `at`. */
function nextAt(minute: DayMinute, at: Instant): Instant {
  const today = later(dayStart(dayOf(at)), minute * MINUTE_MS)
  return today > at ? today : later(today, DAY_MS)
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/

/** Reads "07:30"; undefined for anything else. */
export function readDayMinute(text: string): DayMinute | undefined {
  const [, hours, minutes] = TIME.exec(text) ?? []
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes)
}

export const renderDayMinute = (minute: DayMinute): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`

export const renderQuiet = ({ quiet }: Pick<NoticeSettings, 'quiet'>): string | null =>
  quiet === null ? null : `${renderDayMinute(quiet.from)}-${renderDayMinute(quiet.until)}`

/** An absent field stays as it is. */
export type NoticeSettingsChange = Partial<NoticeSettings>

export interface ChangedNoticeSettings extends Amended<NoticeSettings> {
  /** Whether the offered secret was taken. */
  readonly hasNewSecret: boolean
}

/** Port: the settings, read by every event that is raised. */
export interface NoticeSettingsStore {
  find(): Promise<NoticeSettings>
  /** Durable before it resolves; holds from the next event on. The secret is stored encrypted. The act gains what changed. */
  set(
    change: NoticeSettingsChange,
    offer: WebhookSecretOffer | undefined,
    act: Act,
  ): Promise<ChangedNoticeSettings>
  /** Null where no webhook is set. @throws internal_error when it cannot be decrypted with this master key */
  webhookSecret(): Promise<string | null>
}

/** What an act of setting them says: of a webhook's address only the origin, because its path may be secret. */
export function describeNoticeSettings({
  before,
  after,
  hasNewSecret,
}: ChangedNoticeSettings): ActChanges {
  return {
    ...changesBetween(factsOf(before), factsOf(after)),
    ...(before.webhookUrl !== after.webhookUrl && {
      webhook: { from: originOf(before), to: originOf(after) },
    }),
    ...(hasNewSecret && { webhook_secret: 'new' }),
  }
}

const originOf = ({ webhookUrl }: NoticeSettings): string | null =>
  webhookUrl === null ? null : (parseAbsoluteUrl(webhookUrl)?.origin ?? null)

const factsOf = (settings: NoticeSettings): ActChanges => ({
  email: settings.email,
  ceiling_percents: settings.ceilingPercents,
  quiet: renderQuiet(settings),
  digest_at: settings.digestAt === null ? null : renderDayMinute(settings.digestAt),
  wakes_for_critical: settings.wakesForCritical,
})
