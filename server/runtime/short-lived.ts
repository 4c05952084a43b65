/**
 * Collections whose members live as long as one request. Not a Set or a Map, because the runtime rehashes their table every few
 * insertions and links each old table, with its entries, to the next. Once one of these tables survives a young collection, all
 * later members survive too, until a full collection (docs/decisions.md).
 */

/** A member, of one roster at a time. */
export interface Placed {
  /** Its index in its roster, which maintains it; negative while it is in none. */
  place: number
}

/** Members in no order. */
export class Roster<Member extends Placed> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Member): void {
    if (member.place < 0) member.place = this.#members.push(member) - 1
  }

  /** Does nothing for one that is not a member. */
  remove(member: Member): void {
    const { place } = member
    if (place < 0) return
    member.place = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[place] = last
    last.place = place
  }

  /** A copy, so that members may be removed during iteration. */
  list(): Member[] {
    return [...this.#members]
  }
}

/** The table is rebuilt once this many entries were removed, and at least as many as remain. */
const MIN_REMOVED = 256

/** A map. */
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
