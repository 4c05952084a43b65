/** Values of flags: counts, money, durations and times, each refused by the name of its flag. */
import {
  DAY_MS,
  dayOf,
  dayStart,
  type Instant,
  instant,
  isOfCalendar,
  later,
  monthStart,
  readInstant,
  renderInstant,
} from '#domain/clock.ts'
import { usageError } from '../exit.ts'

/** Every whole number up to here is exact. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER

/** A whole number from 1 to `most`, or null for `none`. */
export function readLimitCount(
  flag: string,
  text: string,
  hint: string | null = null,
  most = MAX_COUNT,
): number | null {
  if (text === 'none') return null
  const count = toCount(text)
  if (count >= 1 && count <= most) return count
  throw usageError(`${flag} must be ${wholeNumber(count, most)}, or "none" (got "${text}")`, hint)
}

/** A whole number of at least 1; the verb may set a lower maximum. */
export function readCount(flag: string, text: string): number {
  const count = toCount(text)
  if (count >= 1 && count <= MAX_COUNT) return count
  throw usageError(`${flag} must be ${wholeNumber(count, MAX_COUNT)} (got "${text}")`)
}

const toCount = (text: string): number => (/^\d+$/.test(text) ? Number(text) : 0)

const wholeNumber = (count: number, most: number): string =>
  count > most ? `a whole number from 1 to ${most}` : 'a whole number of at least 1'

/** Dollars as the verbs read them: "20", "20.00" or "$20" is "20.00"'s plain decimal. */
export function readMoney(flag: string, text: string): string {
  const plain = text.startsWith('$') ? text.slice(1) : text
  // The verb checks the maximum, and its refusal names this flag.
  if (/^\d+(\.\d+)?$/.test(plain)) return plain
  throw usageError(`${flag} must be an amount of dollars such as 20 or 20.00 (got "${text}")`)
}

/** Null for `none`, which takes away what there is. */
export const orNone = (text: string | undefined): string | null | undefined =>
  text === 'none' ? null : text

/** Dollars, or null for `none`. */
export const readLimitMoney = (flag: string, text: string): string | null =>
  text === 'none' ? null : readMoney(flag, text)

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
}

/** "500ms", "90s", "15m", "24h", "7d" in milliseconds. The error also names `word`, which the caller accepts too. */
export function readDuration(flag: string, text: string, word: string | null = null): number {
  const match = /^(\d{1,9})(ms|[smhd])$/.exec(text)
  const unitMs = UNIT_MS[match?.[2] ?? '']
  if (match && unitMs !== undefined) return Number(match[1]) * unitMs
  const or = word === null ? '' : `, or ${word}`
  throw usageError(`${flag} must be a duration such as 90s, 15m, 24h or 7d${or} (got "${text}")`)
}

/** A past time: RFC 3339, a date, `today`, `yesterday`, `month`, or how long ago. Answers RFC 3339. */
export function readSince(flag: string, text: string, now: Instant): string {
  const stated = namedTime(text, now) ?? readTime(text) ?? readDistance(flag, text, now, -1)
  if (stated !== undefined) return renderInstant(stated)
  throw usageError(
    `${flag} must be a time such as 2026-12-01 or 2026-12-01T00:00:00Z, today, month, or how long ago such as 7d (got "${text}")`,
  )
}

export interface RangeFlags {
  readonly since?: string
  readonly until?: string
}

/** The times between which a list is; null for each that is not given. */
export const readRange = ({ since, until }: RangeFlags, now: Instant) => ({
  since: since === undefined ? null : readSince('--since', since, now),
  until: until === undefined ? null : readSince('--until', until, now),
})

/** A future time: RFC 3339, a date or how long from now; null for `never`, undefined where it is not given. */
export function readUntil(
  flag: string,
  text: string | undefined,
  now: Instant,
): string | null | undefined {
  if (text === undefined) return undefined
  if (text === 'never') return null
  const stated = readAhead(flag, text, now)
  if (stated !== undefined) return stated
  throw usageError(
    `${flag} must be a time such as 2026-12-01 or 2026-12-01T00:00:00Z, how long from now such as 30d, or never (got "${text}")`,
  )
}

/** When something takes effect: RFC 3339, a date or how long from now; undefined where it is not given. */
export function readStart(
  flag: string,
  text: string | undefined,
  now: Instant,
): string | undefined {
  if (text === undefined) return undefined
  const stated = readAhead(flag, text, now)
  if (stated !== undefined) return stated
  throw usageError(
    `${flag} must be a time such as 2026-12-01 or 2026-12-01T00:00:00Z, or how long from now such as 30d (got "${text}")`,
  )
}

function readAhead(flag: string, text: string, now: Instant): string | undefined {
  const stated = readTime(text) ?? readDistance(flag, text, now, 1)
  return stated === undefined ? undefined : renderInstant(stated)
}

/** How long before or after `now`; undefined for no duration, and for one that leads to no time that can be written. */
function readDistance(flag: string, text: string, now: Instant, sign: 1 | -1): Instant | undefined {
  if (!/^\d+[smhd]$/.test(text)) return undefined
  const at = later(now, sign * readDuration(flag, text))
  return isOfCalendar(at) ? at : undefined
}

/** A date means its first instant, UTC. */
const readTime = (text: string): Instant | undefined =>
  readInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)

/** Days are UTC. */
function namedTime(text: string, now: Instant): Instant | undefined {
  const today = dayOf(now)
  if (text === 'today') return dayStart(today)
  if (text === 'yesterday') return instant(dayStart(today) - DAY_MS)
  return text === 'month' ? dayStart(monthStart(today)) : undefined
}
