/** Simulated time: acts are done in the order of their instants, and those of one instant in the order they were planned. */

interface Planned {
  readonly atMs: number
  readonly turn: number
  readonly act: () => void
}

export interface Timeline {
  readonly nowMs: number
  after(delayMs: number, act: () => void): void
  every(periodMs: number, act: () => void): void
  /** Does everything that is due before `untilMs`, and leaves the clock there. */
  run(untilMs: number): void
}

export function startTimeline(): Timeline {
  const heap: Planned[] = []
  let nowMs = 0
  let turn = 0

  const after = (delayMs: number, act: () => void): void => {
    push(heap, { atMs: nowMs + delayMs, turn: turn++, act })
  }
  const every = (periodMs: number, act: () => void): void => {
    after(periodMs, () => {
      act()
      every(periodMs, act)
    })
  }

  return {
    get nowMs() {
      return nowMs
    },
    after,
    every,
    run(untilMs) {
      for (let next = heap[0]; next !== undefined && next.atMs < untilMs; next = heap[0]) {
        pop(heap)
        nowMs = next.atMs
        next.act()
      }
      nowMs = untilMs
    },
  }
}

const isBefore = (a: Planned, b: Planned): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.turn < b.turn)

/** A binary heap: the earliest stands first. */
function push(heap: Planned[], planned: Planned): void {
  let place = heap.push(planned) - 1
  while (place > 0) {
    const above = (place - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || !isBefore(planned, parent)) break
    heap[place] = parent
    place = above
  }
  heap[place] = planned
}

function pop(heap: Planned[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let place = 0
  for (;;) {
    const left = 2 * place + 1
    const [a, b] = [heap[left], heap[left + 1]]
    const child = b !== undefined && a !== undefined && isBefore(b, a) ? left + 1 : left
    const smaller = heap[child]
    if (smaller === undefined || !isBefore(smaller, last)) break
    heap[place] = smaller
    place = child
  }
  heap[place] = last
}
