/**
 * Collections whose members live as long as one request, and deadlines, which share one timer. Not a Set or a Map, because the
 * runtime rehashes their table every few insertions and links each old table, with its entries, to the next. Once one of these
 * tables survives a young collection, all later members survive too, until a full collection (docs/decisions.md).
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

/** Checked when the timer fires; never expires before it is due. */
export interface Deadline extends Placed {
  /** The due time by `performance.now()`. It may move later at any time, but earlier only through `setDeadline`. */
  dueMs(nowMs: number): number
  /** Called when it is due, after it was cleared. */
  expire(): void
}

/** The longest delay that setTimeout supports. */
const MAX_TIMER_MS = 2_147_483_647
/** How late a deadline may expire, so that close deadlines share a wake-up. */
const MIN_TIMER_MS = 10

const roster = new Roster<Deadline>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerDueMs = Number.POSITIVE_INFINITY

/** Sets a deadline, or updates one that is now due earlier. */
export function setDeadline(deadline: Deadline, nowMs = performance.now()): void {
  roster.add(deadline)
  const dueMs = deadline.dueMs(nowMs)
  if (dueMs < timerDueMs) setTimer(dueMs, nowMs)
}

/** Cancels a deadline. The timer keeps running for the other deadlines. */
export function clearDeadline(deadline: Deadline): void {
  roster.remove(deadline)
}

function setTimer(dueMs: number, nowMs: number): void {
  clearTimeout(timer)
  timerDueMs = dueMs
  const restMs = Math.max(Math.ceil(dueMs - nowMs), MIN_TIMER_MS)
  // Unreferenced: the watched connections keep the process alive, not this timer.
  timer = setTimeout(expireDue, Math.min(restMs, MAX_TIMER_MS)).unref()
}

function expireDue(): void {
  timerDueMs = Number.POSITIVE_INFINITY
  const nowMs = performance.now()
  let nextMs = Number.POSITIVE_INFINITY
  // `expire` may set deadlines, which sets the timer, and clear others, which are skipped.
  for (const deadline of roster.list()) {
    if (deadline.place < 0) continue
    const dueMs = deadline.dueMs(nowMs)
    if (dueMs > nowMs) {
      nextMs = Math.min(nextMs, dueMs)
      continue
    }
    clearDeadline(deadline)
    deadline.expire()
  }
  if (nextMs < timerDueMs) setTimer(nextMs, nowMs)
}
