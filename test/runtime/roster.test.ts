// A roster has exactly the members that were added and not removed; a removed one does not survive the next young collection.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Roster } from '#runtime/short-lived.ts'
import { MAX_RETAINED, passThrough, TRANSIENTS, Transient } from './transients.ts'

const ids = fc.array(fc.nat(40), { maxLength: 400 })

describe('a roster', () => {
  test('has each member that was added and not removed, once', () => {
    fc.assert(
      fc.property(ids, (turns) => {
        const roster = new Roster<Transient>()
        const model = new Set<Transient>()
        const all = Array.from({ length: 41 }, (_, id) => new Transient(id))
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

  test('members may be removed while it is iterated over', () => {
    const roster = new Roster<Transient>()
    for (let id = 0; id < 20; id++) roster.add(new Transient(id))
    for (const one of roster.list()) roster.remove(one)
    expect(roster.size).toBe(0)
  })
})

describe('a removed member is collected by the next young collection', () => {
  test('of a roster', () => {
    const roster = new Roster<Transient>()
    const retained = passThrough(
      (one) => roster.add(one),
      (one) => roster.remove(one),
    )
    expect(retained).toBeLessThan(MAX_RETAINED)
  })

  test('unlike a member of a Set: else neither collection would be needed', () => {
    const set = new Set<Transient>()
    const retained = passThrough(
      (one) => set.add(one),
      (one) => set.delete(one),
    )
    expect(retained).toBeGreaterThan(TRANSIENTS / 2)
  })
})
