/** Input fields shared by the HTTP API and the operator's verbs: money, times, names and limits, parsed into domain values. */
import * as z from 'zod/mini'
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { type Instant, readInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { MODIFIER_FIELDS } from '#domain/extras.ts'
import { isMask, MAX_MASKS, MAX_NAME_CHARS, MAX_WINDOW_SLOTS } from '#domain/key.ts'
import {
  ACCOUNT_LIMITS,
  type AccountLimitsRecord,
  forEachLimit,
  LIMITS,
  type Limits,
} from '#domain/limits.ts'
import type { Modifier, ServerToolPrice } from '#domain/model-card.ts'
import { perMillion, perThousand, readFactor, readPrice, readUsd } from '#domain/money.ts'
import { CONTROL, isPlain } from '#domain/plain-text.ts'
import { holdsSecret } from '#domain/secret.ts'

const MAX_QUOTED_CHARS = 40
const PLAIN_DECIMAL = /^\d+(\.\d+)?$/

/** How API keys and webhook secrets begin. */
const LIKE_SECRET = /^\s*(?:if-|sk-|whsec_|AIza)/

/** An input to quote in an error message: shortened, and never a secret. */
function quoted(text: string): string {
  if (LIKE_SECRET.test(text)) return 'what looks like a secret'
  return `"${text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text}"`
}

/** A JSON number is refused where a decimal string is required, because it can lose digits. */
const refuseType = (input: unknown, expected: string): string =>
  typeof input === 'number' && PLAIN_DECIMAL.test(String(input))
    ? `must be a string: send "${input}" and not ${input}`
    : `must be ${expected}`

/** A string that `read` accepts; otherwise an issue that says what was expected. */
export const readAs = <T>(read: (text: string) => T | undefined, expected: string) =>
  z.pipe(
    z.string({ error: ({ input }) => refuseType(input, expected) }),
    z.transform((text: string, context): T => {
      const value = read(text)
      if (value !== undefined) return value
      const message = `must be ${expected} (got ${quoted(text)})`
      context.issues.push({ code: 'custom', input: text, message })
      return z.NEVER
    }),
  )

/** A field that may be absent, which is null. */
export const orNull = <Field extends z.ZodMiniType>(field: Field) =>
  z._default(z.nullable(field), null)

/** How many are listed at most: 50, unless it is stated. */
export const pageField = (most: number) =>
  z._default(z.int().check(z.minimum(1), z.maximum(most)), 50)

/** Dollars, at most nine decimal places. */
export const usdField = readAs(
  readUsd,
  'a decimal amount of dollars such as "20.00", with at most 9 places and up to 9007199',
)

/** A ceiling: dollars, at most six decimal places (contract §5). */
const ceilingField = readAs(
  (text) => (/\.\d{7}/.test(text) ? undefined : readUsd(text)),
  'a decimal amount of dollars such as "20.00", with at most 6 places and up to 9007199',
)

/** Dollars per unit. */
export const priceField = readAs(
  readPrice,
  'a decimal price in dollars, of at most 18 places, such as "0.04"',
)

/** Dollars per million tokens, read as dollars per token. */
export const perMillionField = readAs((text) => {
  const price = readPrice(text)
  return price === undefined ? undefined : perMillion(price)
}, 'a decimal price in dollars per million tokens, of at most 12 places, such as "2.50"')

const MAX_SERVER_TOOLS = 32
const MAX_MODIFIERS = 32

const byName = <Value>(record: Record<string, Value>): [string, Value][] =>
  Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Dollars per thousand calls of each of the vendor's tools, read as dollars per call. */
export const serverToolsField = z.pipe(
  z
    .record(
      z.string().check(z.regex(/^[a-z][a-z0-9_:.-]{0,63}$/, 'must be a tool such as "web_search"')),
      readAs((text) => {
        const price = readPrice(text)
        return price === undefined ? undefined : perThousand(price)
      }, 'a decimal price in dollars per thousand calls, of at most 15 places, such as "10"'),
    )
    .check(
      z.refine((tools) => Object.keys(tools).length <= MAX_SERVER_TOOLS, {
        error: `may name at most ${MAX_SERVER_TOOLS} tools`,
      }),
    ),
  z.transform((tools): readonly ServerToolPrice[] =>
    byName(tools).map(([tool, usd]) => ({ tool, usd })),
  ),
)

const MODIFIER = new RegExp(`^(?:${MODIFIER_FIELDS.join('|')})=[\\w.-]{1,64}$`)

/** Factors of the whole price, by a field and its value. */
export const modifiersField = z.pipe(
  z
    .record(
      z
        .string()
        .check(z.regex(MODIFIER, 'must be a field and a value such as "service_tier=flex"')),
      readAs(readFactor, 'a positive decimal of at most 6 places such as "1.5"'),
    )
    .check(
      z.refine((modifiers) => Object.keys(modifiers).length <= MAX_MODIFIERS, {
        error: `may name at most ${MAX_MODIFIERS} values`,
      }),
    ),
  z.transform((modifiers): readonly Modifier[] =>
    byName(modifiers).map(([name, factor]) => ({ name, factor })),
  ),
)

/** An RFC 3339 time. */
export const timeField = readAs(readInstant, 'an RFC 3339 time such as "2026-12-01T00:00:00Z"')

/** Checks an expiry time; null is never. @throws invalid_request when it is not in the future */
export function requireFuture(end: Instant | null, now: Instant): Instant | null {
  if (end === null || end > now) return end
  throw new GatewayError('invalid_request', 'expires_at: must be a time in the future', {
    param: 'expires_at',
  })
}

const NAME_MESSAGE = `must be a text of 1 to ${MAX_NAME_CHARS} characters, without line breaks and other control characters`
const PLAIN_MESSAGE = 'must hold no line breaks and no other control characters'

/** A name: no control characters, not only white space. */
export const NAME_PATTERN = new RegExp(`^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`)
/** What lists show of a key's secret, and its id as they show it or whole: a command that is meant for one must not reach a key of that name. */
export const LIKE_ANOTHERS =
  /^\s*(?:if-[0-9A-Za-z]{6}|key_(?:…|\.{3})?[0-9a-hjkmnp-tv-z]{6,26}\s*$)/
export const KEY_NAME_PATTERN = new RegExp(
  NAME_PATTERN.source.replace('^', `^(?!${LIKE_ANOTHERS.source.slice(1)})`),
)

/** Counts code points, not UTF-16 units. */
const isName = (text: string): boolean => {
  const chars = [...text].length
  return chars >= 1 && chars <= MAX_NAME_CHARS && text.isWellFormed()
}

/** Names and notes are shown in lists, in logs and to others of the account. */
export const HOLDS_KEY = 'must not hold the secret of an API key'
const holdsNoKey = z.refine<string>((text) => !holdsSecret(text), HOLDS_KEY)

/** Also one that is there from before secrets were looked for. */
export const keptNameField = z
  .string(NAME_MESSAGE)
  .check(
    z.refine(isPlain, { error: NAME_MESSAGE, abort: true }),
    z.trim(),
    z.refine(isName, { error: NAME_MESSAGE, abort: true }),
  )

export const nameField = keptNameField.check(holdsNoKey)

/** Money that is meant for an id reaches nobody who took it as a name. */
export const accountNameField = nameField.check(
  z.refine((name) => !name.startsWith('acct_'), 'must not begin with acct_, as ids of accounts do'),
)

export const textField = z.string().check(z.minLength(1))

/** A text of one line and at most `most` characters. */
export const lineField = (most: number) =>
  z
    .string()
    .check(
      z.maxLength(most, `must be at most ${most} characters`),
      z.refine(isPlain, PLAIN_MESSAGE),
    )

/** The name by which a provider knows a model. */
export const upstreamField = lineField(256).check(z.minLength(1))

export const keptNoteField = lineField(1_000)
export const noteField = keptNoteField.check(holdsNoKey)

/** The account of what is made or listed, by name or id. */
export const accountField = z._default(z.string(), DEFAULT_ACCOUNT_NAME)
/** The account that everything named in the input must belong to, by name or id; null: whichever owns it. */
export const scopeField = orNull(z.string())

const COUNT_MESSAGE =
  'must be a whole number of at least 1; null is no limit, and a key is stopped by disabling it'

const countField = z.int(COUNT_MESSAGE).check(z.minimum(1, COUNT_MESSAGE))
const windowField = countField.check(
  z.maximum(MAX_WINDOW_SLOTS, `must be at most ${MAX_WINDOW_SLOTS}`),
)

const MASK_MESSAGE = 'must be a model id, "<provider>/*" or "*"'
const maskField = z
  .string(MASK_MESSAGE)
  .check(
    z.refine(isMask, { error: ({ input }) => `${MASK_MESSAGE} (got ${quoted(String(input))})` }),
  )

const masksField = z
  .array(maskField, 'must be a list of masks, or null for every model')
  .check(z.maxLength(MAX_MASKS, `must be at most ${MAX_MASKS} masks`))

const FIELDS = {
  slots: z.nullish(windowField),
  count: z.nullish(countField),
  usd: z.nullish(ceilingField),
  masks: z.nullish(masksField),
}

/** Limits by their API names; absent leaves one unchanged, null removes it. */
export const limitsFields = forEachLimit<typeof FIELDS>(({ unit }) => FIELDS[unit])

/** The same for an account. */
export const accountLimitsFields = Object.fromEntries(
  ACCOUNT_LIMITS.map(({ name }) => [name, limitsFields[name]]),
) as Pick<typeof limitsFields, keyof AccountLimitsRecord>

const limitsInput = z.object(limitsFields)

/** The limits that are present in the input, by the domain's names. */
export const statedLimits = (input: Partial<z.output<typeof limitsInput>>): Partial<Limits> =>
  Object.fromEntries(
    LIMITS.map(({ limit, name }) => [limit, input[name]]).filter(
      ([, value]) => value !== undefined,
    ),
  )
