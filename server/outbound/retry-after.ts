/** Reads `retry-after-ms`, else `retry-after` in seconds or as an HTTP date. */
import { readHttpDate } from '#domain/clock.ts'

/** Longer waits are implausible and are capped. */
const MAX_SECONDS = 7 * 86_400

/** Whole seconds, at least 1; undefined without a valid header (RFC 9110 §10.2.3). */
export function readRetryAfter(headers: Pick<Headers, 'get'>): number | undefined {
  const ms = readNumber(headers.get('retry-after-ms'))
  if (ms !== undefined) return toSeconds(ms / 1_000)
  const text = headers.get('retry-after')
  const seconds = readNumber(text)
  if (seconds !== undefined) return toSeconds(seconds)
  return text === null ? undefined : secondsUntil(text, headers.get('date'))
}

/** Relative to the server's own `date` header, so that clock skew does not matter. */
function secondsUntil(until: string, now: string | null): number | undefined {
  const from = now === null ? undefined : readHttpDate(now)
  const to = readHttpDate(until)
  return from === undefined || to === undefined ? undefined : toSeconds((to - from) / 1_000)
}

const readNumber = (text: string | null): number | undefined =>
  text !== null && /^\s*\d{1,12}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined

const toSeconds = (seconds: number): number =>
  Math.min(Math.max(1, Math.ceil(seconds)), MAX_SECONDS)
