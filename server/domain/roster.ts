/**
 * Members that live as long as one request. Not a Set: the runtime rehashes its table every few insertions and links each old table,
 * with all that was in it, to the next. Once such a table has survived one young collection, every object that passes through those
 * that follow survives too, until everything is collected (docs/decisions.md).
 */

/** What can be a member, of one roster at a time. */
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

  /** A copy: what is done to them may remove them. */
  list(): Member[] {
    return [...this.#members]
  }
}
