/** Endings: the last requests that ended, one column per field, so that adding one costs a few stores and keeps no object alive. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import type { KeyId } from '../id.ts'
import { completionTokens, promptTokens } from '../usage.ts'

/**
 * At 50 requests a second this covers five minutes; at fewer, up to the hour that views show. Computing figures over all of
 * them blocks the event loop for some milliseconds, which limits the number.
 */
export const MAX_ENDINGS = 16_384
const FIRST_CAPACITY = 1_024

/** A request that ended, as input for figures. */
export interface Ended {
  readonly endedAt: number
  readonly totalMs: number
  /** Negative when no content came. */
  readonly firstEventMs: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  readonly status: number
  /** Nano-dollars as a float, only for shares and rates; sums of money come from the ledger. */
  readonly costNanos: number
  readonly keyId: KeyId
  readonly model: string
  /** Null if it was refused, so that no provider was tried. */
  readonly provider: string | null
  readonly endUser: string | null
}

interface Columns {
  readonly numbers: Float64Array
  readonly keys: KeyId[]
  readonly models: string[]
  readonly providers: (string | null)[]
  readonly users: (string | null)[]
}

const FIGURES = 8

const columns = (capacity: number): Columns => ({
  numbers: new Float64Array(capacity * FIGURES),
  keys: [],
  models: [],
  providers: [],
  users: [],
})

/** A ring buffer of the newest `MAX_ENDINGS`; it grows to that size as needed. */
export class Endings {
  #columns = columns(FIRST_CAPACITY)
  #capacity = FIRST_CAPACITY
  /** How many were added so far. */
  #noted = 0

  note(entry: ActivityEntry, at: Instant): void {
    if (this.#noted === this.#capacity && this.#capacity < MAX_ENDINGS) this.#grow()
    const place = this.#noted % this.#capacity
    const { numbers, keys, models, providers, users } = this.#columns
    const { usage } = entry
    const first = place * FIGURES
    numbers[first] = at
    numbers[first + 1] = entry.totalMs
    numbers[first + 2] = entry.firstEventMs ?? -1
    numbers[first + 3] = promptTokens(usage)
    numbers[first + 4] = usage.cacheReadTokens
    numbers[first + 5] = completionTokens(usage)
    numbers[first + 6] = entry.status
    numbers[first + 7] = Number(entry.cost)
    keys[place] = entry.keyId
    models[place] = entry.model
    providers[place] = entry.provider
    users[place] = entry.endUser
    this.#noted++
  }

  /** Those that ended after `since`, newest first. */
  *after(since: Instant): Generator<Ended, void> {
    const oldest = Math.max(0, this.#noted - this.#capacity)
    for (let number = this.#noted - 1; number >= oldest; number--) {
      const ended = this.#at(number % this.#capacity)
      if (ended.endedAt <= since) return
      yield ended
    }
  }

  /** The instant since which the ring is complete; null while none was dropped. */
  get reachesBackTo(): number | null {
    if (this.#noted <= this.#capacity) return null
    return this.#columns.numbers[(this.#noted % this.#capacity) * FIGURES] ?? null
  }

  #at(place: number): Ended {
    const { numbers, keys, models, providers, users } = this.#columns
    const first = place * FIGURES
    const figure = (index: number): number => numbers[first + index] ?? 0
    return {
      endedAt: figure(0),
      totalMs: figure(1),
      firstEventMs: figure(2),
      promptTokens: figure(3),
      cachedTokens: figure(4),
      outputTokens: figure(5),
      status: figure(6),
      costNanos: figure(7),
      keyId: keys[place] as KeyId,
      model: models[place] ?? '',
      provider: providers[place] ?? null,
      endUser: users[place] ?? null,
    }
  }

  /** Only called when the ring is full and has not wrapped yet, so indices stay valid. */
  #grow(): void {
    const larger = columns(this.#capacity * 2)
    larger.numbers.set(this.#columns.numbers)
    this.#columns = { ...this.#columns, numbers: larger.numbers }
    this.#capacity *= 2
  }
}
