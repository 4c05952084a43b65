/** The fields that verbs share: money, times and limits as they travel, read into the domain's own values. */
import { z } from 'zod'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { isMask, MOST_MASKS } from '#domain/allow-list.ts'
import { readInstant } from '#domain/clock.ts'
import { type Limits, MOST_NAME_CHARS, MOST_WINDOW_SLOTS } from '#domain/key.ts'
import { perMillion, readPrice, readUsd } from '#domain/money.ts'

/** A text that `read` understands, or an issue that says what was expected. */
const readAs = <T>(read: (text: string) => T | undefined, expected: string) =>
  z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: `must be ${expected} (got "${text}")` })
    return z.NEVER
  })

/** Dollars, at most nine decimal places. */
export const usdField = readAs(readUsd, 'a decimal amount of dollars such as "20.00"')

/** A ceiling: dollars, at most six decimal places (contract §5). */
const ceilingField = readAs(
  (text) => (/\.\d{7}/.test(text) ? undefined : readUsd(text)),
  'a decimal amount of dollars with at most 6 places such as "20.00"',
)

/** Dollars per unit. */
export const priceField = readAs(readPrice, 'a decimal price in dollars such as "0.04"')

/** Dollars per million tokens, read as dollars per token. */
export const perMillionField = readAs((text) => {
  const price = readPrice(text)
  return price === undefined ? undefined : perMillion(price)
}, 'a decimal price in dollars per million tokens such as "2.50"')

/** An RFC 3339 time. */
export const timeField = readAs(readInstant, 'an RFC 3339 time such as "2026-12-01T00:00:00Z"')

export const nameField = z.string().trim().min(1).max(MOST_NAME_CHARS)
export const noteField = z.string().max(1_000)
export const accountField = z.string().default(DEFAULT_ACCOUNT_NAME)

const countField = z
  .int('must be a whole number of at least 1')
  .min(1, 'must be a whole number of at least 1')

const maskField = z.string().refine(isMask, {
  error: ({ input }) => `must be a model id, "<provider>/*" or "*" (got "${String(input)}")`,
})

/** Any of a key's limits by its wire name; absent leaves it as it is, null removes it. */
export const limitsFields = {
  rpm_limit: countField.max(MOST_WINDOW_SLOTS).nullish(),
  rpd_limit: countField.max(MOST_WINDOW_SLOTS).nullish(),
  concurrency_limit: countField.nullish(),
  daily_spend_limit_usd: ceilingField.nullish(),
  monthly_spend_limit_usd: ceilingField.nullish(),
  allowed_models: z.array(maskField).max(MOST_MASKS).nullish(),
}

const limitsInput = z.object(limitsFields)

/** The limits that were stated, under the domain's names. */
export function statedLimits(input: z.output<typeof limitsInput>): Partial<Limits> {
  const named = {
    rpm: input.rpm_limit,
    rpd: input.rpd_limit,
    concurrency: input.concurrency_limit,
    dailySpend: input.daily_spend_limit_usd,
    monthlySpend: input.monthly_spend_limit_usd,
    allowedModels: input.allowed_models,
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}
