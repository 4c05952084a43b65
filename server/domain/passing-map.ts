/** A map for entries that live as long as one request. A plain Map with deletions keeps finished requests reachable: see `roster.ts`. */

/** The map is made anew once so many are gone, and at least as many as are left. */
const FEWEST_GONE = 256

export class PassingMap<Key, Value extends object> {
  /** Null for those that are gone: nothing is deleted, so that the runtime does not rehash the table. */
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

  /** Takes it out, and answers it. */
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
