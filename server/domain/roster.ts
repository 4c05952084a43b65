/**
 * Whoever is under way. Not a Set, nor a Map: their table is built anew every few comings and goings, and the runtime keeps the old
 * one tied to the next, with all that was in it. Once such a table has outlived one collection of the young, those that follow keep
 * every object that passes through, until everything is collected (docs/decisions.md).
 */

/** It can be in one roster at a time. */
export interface Placed {
  /** Where it stands in its roster, which keeps it; negative where it does not. */
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

  /** Of one that is not here nothing comes. */
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
