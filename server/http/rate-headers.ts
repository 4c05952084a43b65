/** The rate headers: what is left of a key's windows, on every answer to a known key (contract §4). */
import type { QuotaReading } from '#domain/quota.ts'

export type HeaderFields = Record<string, string>

/** `Access-Control-Expose-Headers`. */
export const EXPOSED_HEADERS = [
  'X-RateLimit-Limit-Minute',
  'X-RateLimit-Remaining-Minute',
  'X-RateLimit-Reset-Minute',
  'X-RateLimit-Limit-Day',
  'X-RateLimit-Remaining-Day',
  'X-RateLimit-Reset-Day',
  'Retry-After',
  'X-Should-Retry',
  'X-Request-Id',
  'X-Generation-Id',
  'X-Gateway-Max-Output-Tokens',
  'Idempotent-Replayed',
].join(', ')

/** Adds three headers for each window that has a limit. */
export function addRateHeaders(headers: HeaderFields, { minute, day }: QuotaReading): void {
  if (minute !== null) {
    headers['X-RateLimit-Limit-Minute'] = String(minute.limit)
    headers['X-RateLimit-Remaining-Minute'] = renderRest(minute.remaining)
    headers['X-RateLimit-Reset-Minute'] = String(minute.resetSeconds)
  }
  if (day !== null) {
    headers['X-RateLimit-Limit-Day'] = String(day.limit)
    headers['X-RateLimit-Remaining-Day'] = renderRest(day.remaining)
    headers['X-RateLimit-Reset-Day'] = String(day.resetSeconds)
  }
}

/** Faster than `String`, which caches its results; this number is different every time. */
const renderRest = (remaining: number): string => remaining.toFixed(0)
