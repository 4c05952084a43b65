/** A map for entries that live as long as one request. A plain Map with deletions keeps finished requests reachable: see `roster.ts`. */

/** The table is rebuilt once this many entries were removed, and at least as many as remain. */
const MIN_REMOVED = 256

export class TransientMap<Key, Value extends object> {
  /** A removed entry becomes null instead of being deleted, so that the runtime does not rehash the table. */
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

  /** Removes and returns an entry. */
  take(key: Key): Value | undefined {
    const value = this.#kept.get(key)
    if (!value) return undefined
    this.#kept.set(key, null)
    this.#size--
    const gone = this.#kept.size - this.#size
    if (gone >= MIN_REMOVED && gone >= this.#size) this.#kept = new Map(this)
    return value
  }

  /** Oldest first, except that a key used again may keep its earlier place. */
  *[Symbol.iterator](): Generator<[Key, Value], void> {
    for (const [key, value] of this.#kept) if (value !== null) yield [key, value]
  }
}
