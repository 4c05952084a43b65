// What came and did not go is found by its key, and what went is gone with the next collection of the young.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PassingMap } from '#domain/passing-map.ts'
import { FEW, Passenger, pass } from './passengers.ts'

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
  test('of a passing map', () => {
    const passing = new PassingMap<string, Passenger>()
    const left = pass(
      (one) => passing.set(one.id, one),
      (one) => passing.take(one.id),
    )
    expect(left).toBeLessThan(FEW)
  })
})
