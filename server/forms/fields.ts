/** The fields that verbs share: money, times and limits as they travel, read into the domain's own values. */
import * as z from 'zod/mini'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { isMask, MOST_MASKS } from '#domain/allow-list.ts'
import { readInstant } from '#domain/clock.ts'
import { type Limits, MOST_NAME_CHARS, MOST_WINDOW_SLOTS } from '#domain/key.ts'
import { perMillion, readPrice, readUsd } from '#domain/money.ts'

/** A text that `read` understands, or an issue that says what was expected. */
export const readAs = <T>(read: (text: string) => T | undefined, expected: string) =>
  z.pipe(
    z.string(),
    z.transform((text: string, context): T => {
      const value = read(text)
      if (value !== undefined) return value
      const message = `must be ${expected} (got "${text}")`
      context.issues.push({ code: 'custom', input: text, message })
      return z.NEVER
    }),
  )

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

export const nameField = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'must not be empty'),
    z.maxLength(MOST_NAME_CHARS, `must be at most ${MOST_NAME_CHARS} characters`),
  )
export const noteField = z.string().check(z.maxLength(1_000, 'must be at most 1000 characters'))
export const accountField = z._default(z.string(), DEFAULT_ACCOUNT_NAME)

const WHOLE = 'must be a whole number of at least 1'

const countField = z.int(WHOLE).check(z.minimum(1, WHOLE))
const windowField = countField.check(
  z.maximum(MOST_WINDOW_SLOTS, `must be at most ${MOST_WINDOW_SLOTS}`),
)

const maskField = z.string().check(
  z.refine(isMask, {
    error: ({ input }) => `must be a model id, "<provider>/*" or "*" (got "${String(input)}")`,
  }),
)

/** Any of a key's limits by its wire name; absent leaves it as it is, null removes it. */
export const limitsFields = {
  rpm_limit: z.nullish(windowField),
  rpd_limit: z.nullish(windowField),
  concurrency_limit: z.nullish(countField),
  daily_spend_limit_usd: z.nullish(ceilingField),
  monthly_spend_limit_usd: z.nullish(ceilingField),
  allowed_models: z.nullish(
    z.array(maskField).check(z.maxLength(MOST_MASKS, `must be at most ${MOST_MASKS} masks`)),
  ),
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
