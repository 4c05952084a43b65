// Who is under way is in the roster and nobody else, and those that left are gone with the next collection of the young.
import { edenGC, fullGC, heapStats } from 'bun:jsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PassingMap } from '#domain/passing-map.ts'
import { type Placed, Roster } from '#domain/roster.ts'

class Passenger implements Placed {
  place = -1
  readonly id: string
  /** Counted by its kind of object, which the collector tells. */
  readonly luggage = new DataView(new ArrayBuffer(8))
  constructor(id: number) {
    this.id = `passenger ${id}`
  }
}

const ids = fc.array(fc.nat(40), { maxLength: 400 })

describe('a roster', () => {
  test('has whoever was added and not removed, each once', () => {
    fc.assert(
      fc.property(ids, (turns) => {
        const roster = new Roster<Passenger>()
        const model = new Set<Passenger>()
        const all = Array.from({ length: 41 }, (_, id) => new Passenger(id))
        for (const [turn, id] of turns.entries()) {
          const one = all[id]!
          if (turn % 3 === 2) {
            roster.remove(one)
            model.delete(one)
          } else {
            roster.add(one)
            model.add(one)
          }
          expect(roster.size).toBe(model.size)
        }
        expect(new Set(roster.list())).toEqual(model)
        expect(roster.list()).toHaveLength(model.size)
        for (const one of all) expect(one.place >= 0).toBe(model.has(one))
      }),
    )
  })

  test('may lose its members while they are looked at', () => {
    const roster = new Roster<Passenger>()
    for (let id = 0; id < 20; id++) roster.add(new Passenger(id))
    for (const one of roster.list()) roster.remove(one)
    expect(roster.size).toBe(0)
  })
})

describe('a passing map', () => {
  test('finds what was set and not taken, oldest first, however much has passed', () => {
    const turns = fc.array(fc.nat(60), { minLength: 1_000, maxLength: 1_500 })
    fc.assert(
      fc.property(turns, (turns) => {
        const passing = new PassingMap<string, Passenger>()
        const model = new Map<string, Passenger>()
        for (const [turn, id] of turns.entries()) {
          // Keys that come again, as those of clients do, beside keys that never do.
          const key = turn % 2 === 0 ? `key ${id}` : `key ${turn}`
          const gone = turn % 2 === 0 ? key : `key ${turn - 1 - id}`
          expect(passing.take(gone)).toBe(model.get(gone))
          model.delete(gone)
          if (turn % 5 > 0 && !model.has(key)) {
            const one = new Passenger(id)
            passing.set(key, one)
            model.set(key, one)
          }
          expect(passing.get(key)).toBe(model.get(key))
          expect(passing.size).toBe(model.size)
        }
        expect(new Set(passing)).toEqual(new Set(model))
      }),
      { numRuns: 20 },
    )
  })

  test('replaces what has the same key', () => {
    const passing = new PassingMap<string, Passenger>()
    const [one, other] = [new Passenger(1), new Passenger(2)]
    passing.set('key', one)
    passing.set('key', other)
    expect([passing.size, passing.take('key'), passing.take('key')]).toEqual([1, other, undefined])
  })

  test('may lose its entries while they are looked at', () => {
    const passing = new PassingMap<number, Passenger>()
    for (let id = 0; id < 2_000; id++) passing.set(id, new Passenger(id))
    for (const [id] of passing) passing.take(id)
    expect([passing.size, [...passing]]).toEqual([0, []])
  })
})

describe('those that left are gone with the next collection of the young', () => {
  const AT_ONCE = 30
  const PASSING = 6_000
  const COLLECTED_EVERY = 1_000

  /** How many are left of those that passed, while the last few are still there. */
  function pass(add: (one: Passenger) => void, remove: (one: Passenger) => void): number {
    const present: Passenger[] = []
    fullGC()
    const before = heapStats().objectTypeCounts['DataView'] ?? 0
    for (let id = 1; id <= PASSING; id++) {
      const one = new Passenger(id)
      add(one)
      present.push(one)
      const left = present.length > AT_ONCE && present.shift()
      if (left) remove(left)
      if (id % COLLECTED_EVERY === 0) edenGC()
    }
    expect(present).toHaveLength(AT_ONCE)
    return (heapStats().objectTypeCounts['DataView'] ?? 0) - before
  }
  /** Those that were there at a collection are old; so are a few more, by way of what grew before it. */
  const FEW = (PASSING / COLLECTED_EVERY) * AT_ONCE * 5

  test('of a roster', () => {
    const roster = new Roster<Passenger>()
    const left = pass(
      (one) => roster.add(one),
      (one) => roster.remove(one),
    )
    expect(left).toBeLessThan(FEW)
  })

  test('of a passing map', () => {
    const passing = new PassingMap<string, Passenger>()
    const left = pass(
      (one) => passing.set(one.id, one),
      (one) => passing.take(one.id),
    )
    expect(left).toBeLessThan(FEW)
  })

  test('and not of a Set, or neither of them would be needed', () => {
    const set = new Set<Passenger>()
    const left = pass(
      (one) => set.add(one),
      (one) => set.delete(one),
    )
    expect(left).toBeGreaterThan(PASSING / 2)
  })
})
