/** What comes and goes with every request, found by its key. Not a Map, for the reason that `roster.ts` gives. */

/** So many have gone before the map is made anew, or as many as are there. */
const FEWEST_GONE = 256

export class PassingMap<Key, Value extends object> {
  /** Null for those that have gone: nothing is ever taken out, so that the table is not built anew. */
  #kept = new Map<Key, Value | null>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    return this.#kept.get(key) ?? undefined
  }

  set(key: Key, value: Value): void {
    if (!this.#kept.get(key)) this.#size++
    this.#kept.set(key, value)
  }

  /** What was there, and is no more. */
  take(key: Key): Value | undefined {
    const value = this.#kept.get(key)
    if (!value) return undefined
    this.#kept.set(key, null)
    this.#size--
    const gone = this.#kept.size - this.#size
    if (gone >= FEWEST_GONE && gone >= this.#size) this.#kept = new Map(this)
    return value
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<[Key, Value], void> {
    for (const [key, value] of this.#kept) if (value !== null) yield [key, value]
  }
}
