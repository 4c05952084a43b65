/** The refusal of what may be done so often within a day. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'

interface DailyLimit {
  /** As clients know it. */
  readonly limit: string
  readonly most: number
  /** When the next may be. */
  readonly nextAt: Instant
}

export function tooOften(
  what: string,
  { limit, most, nextAt }: DailyLimit,
  at: Instant,
): GatewayError {
  const again = renderInstant(nextAt)
  return new GatewayError(
    'rate_limit_exceeded',
    `${what} at most ${most} times within a day: the next can be at ${again}`,
    {
      metadata: { limit, limit_value: most, resets_at: again },
      retryAfterSeconds: Math.max(1, Math.ceil((nextAt - at) / 1000)),
    },
  )
}
