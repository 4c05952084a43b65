/** Verbs for the settings of notices: where and when the gateway's operator is told. */

import * as z from 'zod/mini'
import {
  type NoticeSettings,
  type NoticeSettingsChange,
  readDayMinute,
  renderDayMinute,
  renderQuiet,
} from '#domain/notice-settings.ts'
import { definedIn } from '#domain/stated.ts'
import { newWebhookSecret } from '#domain/webhook-secret.ts'
import { readAs } from '#forms/fields.ts'
import type { DeliveryConfig } from './deps.ts'
import { emailField, readWebhookUrl } from './threshold-fields.ts'
import { invalidInput, mutation, verb } from './verb.ts'

export interface NoticeSettingsRecord {
  readonly email: string | null
  readonly webhook_url: string | null
  /** Shares of a spend ceiling that are told; empty for none. */
  readonly ceiling_percents: readonly number[]
  /** "22:00-07:00", UTC. */
  readonly quiet: string | null
  /** "08:00", UTC. */
  readonly digest_at: string | null
  /** Whether what is critical is sent at once all the same. */
  readonly wakes_for_critical: boolean
}

export interface SetNoticesRecord extends NoticeSettingsRecord {
  readonly previous: NoticeSettingsRecord
  /** A new secret, shown only once; null when none was created. */
  readonly webhook_secret: string | null
  readonly warnings: readonly string[]
}

export const renderNoticeSettings = (settings: NoticeSettings): NoticeSettingsRecord => ({
  email: settings.email,
  webhook_url: settings.webhookUrl,
  ceiling_percents: settings.ceilingPercents,
  quiet: renderQuiet(settings),
  digest_at: settings.digestAt === null ? null : renderDayMinute(settings.digestAt),
  wakes_for_critical: settings.wakesForCritical,
})

const MAX_PERCENTS = 10
/** A ceiling may be passed by one request. */
const MAX_PERCENT = 200

const percentsField = z
  .array(z.int().check(z.minimum(1), z.maximum(MAX_PERCENT)))
  .check(z.maxLength(MAX_PERCENTS))

const ascending = (percents: readonly number[]): readonly number[] =>
  [...new Set(percents)].toSorted((one, other) => one - other)

function readQuiet(text: string): NonNullable<NoticeSettings['quiet']> | undefined {
  const [from, until, ...more] = text.split('-').map(readDayMinute)
  const isRange = from !== undefined && until !== undefined && from !== until && more.length === 0
  return isRange ? { from, until } : undefined
}

/** The settings, as a verb and a file state them. */
export const noticeFields = {
  email: z.nullish(emailField),
  webhook_url: z.nullish(z.string()),
  ceiling_percents: z.optional(percentsField),
  quiet: z.nullish(readAs(readQuiet, 'two times of the UTC day such as "22:00-07:00"')),
  digest_at: z.nullish(readAs(readDayMinute, 'a time of the UTC day such as "08:00"')),
  wakes_for_critical: z.optional(z.boolean()),
}

const statedNotices = z.strictObject(noticeFields)

type Stated = z.output<typeof statedNotices>

/** Absent fields are absent. @throws invalid_request */
export function toNoticeChange(
  { email, webhook_url, ceiling_percents, quiet, digest_at, wakes_for_critical }: Stated,
  allowsLoopback: boolean,
): NoticeSettingsChange {
  return definedIn({
    email,
    webhookUrl: webhook_url == null ? webhook_url : readWebhookUrl(webhook_url, allowsLoopback),
    ceilingPercents: ceiling_percents && ascending(ceiling_percents),
    quiet,
    digestAt: digest_at,
    wakesForCritical: wakes_for_critical,
  })
}

export const showNoticeSettings = verb(
  z.strictObject({}),
  async ({ store }): Promise<NoticeSettingsRecord> =>
    renderNoticeSettings(await store.noticeSettings.find()),
)

/**
 * Absent fields stay unchanged. The webhook secret is created with the first URL, kept when the URL changes, and removed with
 * it. @throws invalid_request
 */
export const setNotices = mutation(
  'notices.set',
  z.strictObject({ ...noticeFields, rotate_secret: z._default(z.boolean(), false) }),
  async (
    { store, delivery },
    { rotate_secret: rotates, ...stated },
    act,
  ): Promise<SetNoticesRecord> => {
    const change = toNoticeChange(stated, delivery.loopbackWebhooks)
    const found = await store.noticeSettings.find()
    if (rotates && { ...found, ...change }.webhookUrl === null) {
      throw invalidInput('rotate_secret', 'there is no webhook whose secret could be changed')
    }
    const secret = newWebhookSecret()
    const set = await store.noticeSettings.set(change, { secret, rotates }, act(null))
    return {
      ...renderNoticeSettings(set.after),
      previous: renderNoticeSettings(set.before),
      webhook_secret: set.hasNewSecret ? secret : null,
      warnings: warningsFor(set.after, delivery),
    }
  },
)

const warningsFor = (
  { email, webhookUrl }: NoticeSettings,
  { smtp }: DeliveryConfig,
): readonly string[] => [
  ...(email === null && webhookUrl === null
    ? ['nobody will be notified: neither an e-mail nor a webhook is set']
    : []),
  ...(email !== null && !smtp ? ['no mail server is known (GATEWAY_SMTP_URL)'] : []),
]
