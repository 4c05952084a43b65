// Who is under way is in the roster and nobody else, and those that left are gone with the next collection of the young.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Roster } from '#domain/roster.ts'
import { FEW, PASSING, Passenger, pass } from './passengers.ts'

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

describe('those that left are gone with the next collection of the young', () => {
  test('of a roster', () => {
    const roster = new Roster<Passenger>()
    const left = pass(
      (one) => roster.add(one),
      (one) => roster.remove(one),
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
