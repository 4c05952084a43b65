/** Days in addresses: `since=2026-11-01`, `until=2026-11-30`, both included, in UTC; or a whole time. */
import { DAY_MS, type Instant, instant, later, readInstant, renderInstant } from '#domain/clock.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/
/** The last that can be written. */
const LAST = readInstant('9999-12-31T23:59:59.999Z') ?? instant(0)

const dayStartOf = (text: string): Instant | undefined => readInstant(`${text}T00:00:00Z`)

/** As a verb reads it: null for nothing stated; what is no time stays as it is, for the verb to refuse. */
export const readSince = (text: string | null): string | null => read(text, 0)

/** The end of a day that is included. */
export const readUntil = (text: string | null): string | null => read(text, DAY_MS)

function read(typed: string | null, dayMs: number): string | null {
  const text = typed?.trim() ?? ''
  if (text === '') return null
  const at = DAY.test(text) ? dayStartOf(text) : readInstant(text)
  if (at === undefined) return text
  return renderInstant(DAY.test(text) ? instant(Math.min(later(at, dayMs), LAST)) : at)
}

/** Whether a field holds what is no time, so that nothing matches. */
export const isUnreadable = (query: URLSearchParams): boolean =>
  [readSince(query.get('since')), readUntil(query.get('until'))].some(
    (stated) => stated !== null && readInstant(stated) === undefined,
  )
