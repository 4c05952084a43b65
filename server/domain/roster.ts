/**
 * A collection of members that live as long as one request. Not a Set, because the runtime rehashes a Set's table every few
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
