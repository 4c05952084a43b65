/** What counting may take: it costs nothing, so that no ceiling and no window bounds it. */
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'

export const MOST_AT_ONCE = 32
export const MOST_PER_MINUTE = 600
const MINUTE_MS = 60_000

/** The counts of one key. */
interface Counting {
  running: number
  /** When those of the last minute began, oldest first. */
  begun: number[]
}

export class CountLimits {
  /** Of every key that ever counted: at most 600 numbers each. */
  private readonly countings = new Map<KeyId, Counting>()

  /** Answers what ends it. `nowMs` is of a clock that is never set. @throws concurrency_limit_exceeded, rate_limit_exceeded */
  begin(key: ApiKey, nowMs: number): () => void {
    const counting = this.countings.get(key.id) ?? { running: 0, begun: [] }
    this.countings.set(key.id, counting)
    counting.begun = counting.begun.filter((at) => at > nowMs - MINUTE_MS)
    const [oldest = nowMs] = counting.begun
    if (counting.begun.length >= MOST_PER_MINUTE) {
      const seconds = Math.max(1, Math.ceil((oldest + MINUTE_MS - nowMs) / 1_000))
      throw tooMany(key, 'rate_limit_exceeded', 'counts_per_minute', MOST_PER_MINUTE, seconds)
    }
    if (counting.running >= MOST_AT_ONCE) {
      throw tooMany(key, 'concurrency_limit_exceeded', 'counts_at_once', MOST_AT_ONCE, 1)
    }
    counting.begun.push(nowMs)
    counting.running++
    return () => {
      counting.running--
    }
  }
}

const tooMany = (
  { name }: ApiKey,
  code: 'rate_limit_exceeded' | 'concurrency_limit_exceeded',
  limit: 'counts_per_minute' | 'counts_at_once',
  most: number,
  retryAfterSeconds: number,
): GatewayError =>
  new GatewayError(
    code,
    `key ${name} counts the tokens of ${most} prompts ${limit === 'counts_at_once' ? 'at once' : 'in 60 seconds'} already, the most for any key; ask again in ${retryAfterSeconds} s`,
    { retryAfterSeconds, metadata: { limit, limit_value: most, used: most, resets_at: null } },
  )
