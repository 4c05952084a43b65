// A transient map finds its entries by key, and a removed entry does not survive the next young collection.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TransientMap } from '#runtime/short-lived.ts'
import { MAX_RETAINED, passThrough, Transient } from './transients.ts'

/** The index of the first pair that differs. Cheaper than an `expect` for each of many thousand pairs. */
const firstDifference = (one: readonly unknown[], other: readonly unknown[]): number =>
  one.length === other.length ? one.findIndex((value, i) => value !== other[i]) : one.length

const isReused = (key: string): boolean => key.startsWith('reused')

describe('a transient map', () => {
  test('has the entries of a Map, however many were removed; keys that are used once oldest first', () => {
    const turns = fc.array(fc.nat(60), { minLength: 1_000, maxLength: 1_500 })
    fc.assert(
      fc.property(turns, (turns) => {
        const transient = new TransientMap<string, Transient>()
        const model = new Map<string, Transient>()
        const [seen, expected]: [unknown[], unknown[]] = [[], []]
        for (const [turn, id] of turns.entries()) {
          const isEven = turn % 2 === 0
          const key = isEven ? `reused ${id}` : `once ${turn}`
          const removed = isEven ? key : `once ${turn - 2 - 2 * id}`
          seen.push(transient.take(removed))
          expected.push(model.get(removed))
          model.delete(removed)
          if (turn % 5 > 0 && !model.has(key)) {
            const one = new Transient(id)
            transient.set(key, one)
            model.set(key, one)
          }
          seen.push(transient.get(key), transient.size)
          expected.push(model.get(key), model.size)
        }
        expect(firstDifference(seen, expected)).toBe(-1)

        const [listed, kept] = [[...transient], [...model]]
        const usedOnce = (entries: [string, Transient][]): Transient[] =>
          entries.filter(([key]) => !isReused(key)).map(([, one]) => one)
        expect(firstDifference(usedOnce(listed), usedOnce(kept))).toBe(-1)
        const values = new Map(listed)
        expect(listed).toHaveLength(kept.length)
        expect(kept.filter(([key, one]) => values.get(key) !== one)).toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  test('replaces what has the same key', () => {
    const transient = new TransientMap<string, Transient>()
    const [one, other] = [new Transient(1), new Transient(2)]
    transient.set('key', one)
    transient.set('key', other)
    expect([transient.size, transient.take('key'), transient.take('key')]).toEqual([
      1,
      other,
      undefined,
    ])
  })

  test('entries may be removed while they are iterated over', () => {
    const transient = new TransientMap<number, Transient>()
    for (let id = 0; id < 2_000; id++) transient.set(id, new Transient(id))
    for (const [id] of transient) transient.take(id)
    expect([transient.size, [...transient]]).toEqual([0, []])
  })

  test('removed entries are collected by the next young collection', () => {
    const transient = new TransientMap<string, Transient>()
    const retained = passThrough(
      (one) => transient.set(one.id, one),
      (one) => transient.take(one.id),
    )
    expect(retained).toBeLessThan(MAX_RETAINED)
  })
})
