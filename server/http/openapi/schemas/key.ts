/** A key's record, lists of keys, and `GET /v1/key` (contract §5). */
import { z } from 'zod'
import type { KeyKind, KeyStatus } from '#domain/key.ts'
import type { KeyRecord } from '#domain/key-report.ts'
import { forEachLimit, type LimitsRecord } from '#domain/limits.ts'
import type { renderKeyInfo } from '../../wire/render-key-info.ts'
import { count, id, moment, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const schemaOf = (about: string) => ({
  slots: count(about).nullable(),
  count: count(about).nullable(),
  usd: usd(about).nullable(),
  masks: z.array(text('An exact id, `<provider>/*` or `*`', 'acme/*')).nullable().describe(about),
})

const limits = forEachLimit<ReturnType<typeof schemaOf>>(({ unit, about }) => schemaOf(about)[unit])

const keyId = id('key_', 'Its id')
const label = text('The part of its secret that may be shown', 'if-aB3dE6…9xQz')

const kind = oneOf<KeyKind>('The purpose of the key', {
  ordinary: 'calls models',
  provisioning: 'manages keys',
})

const keyUsage = z.object({
  requests_in_progress: count('Requests in progress now'),
  spend_day_usd: usd('In this UTC day'),
  spend_month_usd: usd('In this UTC month'),
})

/** A null limit means no limit. */
export const keyRecord = z
  .object({
    object: z.literal('api_key'),
    id: keyId,
    name: z.string(),
    kind,
    label,
    ...limits,
    status: oneOf<KeyStatus>('The state of the key; the strongest one if several apply', {
      active: 'it can be used',
      disabled: 'it can be enabled again',
      expired: '`expires_at` has passed',
      revoked: 'it can never be used again',
    }),
    created_at: moment('When it was issued'),
    updated_at: moment('When it was last changed'),
    last_used_at: moment('Null for never').nullable(),
    expires_at: moment('Null for never').nullable(),
    revoked_at: moment('Null while it is not revoked').nullable(),
    usage: keyUsage,
  })
  .describe(
    'A key, without its secret. A limit that is null is no limit.',
  ) satisfies z.ZodType<KeyRecord>

const warnings = z
  .array(z.string())
  .exactOptional()
  .describe(
    'Accepted, but possibly a mistake: a mask that matches no model, a name that another key has',
  )

export const issuedKey = keyRecord
  .extend({
    key: text('The secret. It is shown only here, and cannot be recovered', 'if-…'),
    warnings,
  })
  .describe('A new key, with its secret.')

export const amendedKey = keyRecord.extend({ warnings }).describe('The key as it now is.')

export const keyList = z.object({
  object: z.literal('list'),
  data: z.array(keyRecord).describe('Newest first'),
  has_more: z.boolean(),
  first_id: keyId.nullable(),
  last_id: keyId.nullable().describe('Send it as `after` for the next page'),
  total_count: count('The number of keys on all pages'),
})

export const revokedKey = z.object({
  id: keyId,
  object: z.literal('api_key.deleted'),
  deleted: z.literal(true),
})

/** `GET /v1/key` (contract §5). */
export const keyInfo = z
  .object({
    object: z.literal('key_info'),
    id: keyId,
    name: z.string(),
    label,
    kind,
    limits: z.object(limits) satisfies z.ZodType<LimitsRecord>,
    usage: keyUsage.extend({
      spend_day_rub: rub('In this UTC day'),
      spend_month_rub: rub('In this UTC month'),
      reserved_usd: usd('Held by requests in progress'),
      requests_minute: count('In the last 60 seconds'),
      requests_day: count('In the last 24 hours'),
      tokens_minute: count('In the last 60 seconds, with those that requests in progress hold'),
    }),
    remaining: z
      .object({
        minute: count('Requests left in the window').nullable(),
        day: count('Requests left in the window').nullable(),
        tokens_minute: count('Tokens left in the window').nullable(),
        daily_spend_usd: usd('What is left of the ceiling').nullable(),
        monthly_spend_usd: usd('What is left of the ceiling').nullable(),
      })
      .describe('Null where there is no limit'),
    resets: z.object({
      daily_spend_at: moment('The next midnight UTC'),
      monthly_spend_at: moment('The next first of a month UTC'),
    }),
    balance: z.object({ amount_usd: usd("The account's balance"), amount_rub: rub('The same') }),
    expires_at: moment('Null for never').nullable(),
    data: z
      .object({
        label,
        usage: usdNumber('Spent in this UTC month'),
        usage_daily: usdNumber('Spent in this UTC day'),
        usage_monthly: usdNumber('Spent in this UTC month'),
        limit: usdNumber("The month's ceiling, else the day's").nullable(),
        limit_remaining: usdNumber('What is left of it').nullable(),
        is_provisioning_key: z.boolean(),
      })
      .describe("The same under OpenRouter's names, for credit widgets"),
  })
  .describe(
    "The key's limits, spend, requests in progress, and the account's balance.",
  ) satisfies z.ZodType<ReturnType<typeof renderKeyInfo>>
