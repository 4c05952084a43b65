/** Days in addresses: `since=2026-11-01`, `until=2026-11-30`, both included, in UTC; or a whole time. */
import { DAY_MS, type Instant, later, readInstant, renderInstant } from '#domain/clock.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/

const dayStartOf = (text: string): Instant | undefined => readInstant(`${text}T00:00:00Z`)

/** What a verb reads; null for nothing stated, and for what is no time. */
export function readSince(text: string | null): string | null {
  const at =
    text === null || text === '' ? undefined : DAY.test(text) ? dayStartOf(text) : readInstant(text)
  return at === undefined ? null : renderInstant(at)
}

/** The end of a day that is included. */
export function readUntil(text: string | null): string | null {
  if (text === null || !DAY.test(text)) return readSince(text)
  const at = dayStartOf(text)
  return at === undefined ? null : renderInstant(later(at, DAY_MS))
}
