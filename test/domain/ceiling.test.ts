// No interleaving of requests crosses a ceiling by more than one request; a lone one may use its last cent.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judgeCeiling, type Spending } from '#domain/admission.ts'
import type { UsdNanos } from '#domain/money.ts'
import { FULL } from '#test/support/tier.ts'

const nanos = (amount: bigint | number) => BigInt(amount) as UsdNanos
const spending = (spent: number, held: number): Spending => ({
  spent: nanos(spent),
  held: nanos(held),
})

describe('a ceiling of 100', () => {
  test.each([
    [0, 0, 10, 'admitted'],
    [99, 0, 500, 'admitted'],
    [100, 0, 0, 'exhausted'],
    [101, 50, 1, 'exhausted'],
    [50, 30, 20, 'admitted'],
    [50, 30, 21, 'reserved'],
    [0, 1, 100, 'reserved'],
    [0, 200, 1, 'reserved'],
  ] as const)('%s spent, %s held, %s wanted: %s', (spent, held, hold, verdict) => {
    expect(judgeCeiling(spending(spent, held), nanos(100), nanos(hold))).toBe(verdict)
  })

  test('a ceiling of nothing lets nothing through', () => {
    expect(judgeCeiling(spending(0, 0), nanos(0), nanos(0))).toBe('exhausted')
  })
})

describe('a balance', () => {
  test.each([
    [0, 0, 0, 'exhausted'],
    [-5, 0, 0, 'exhausted'],
    [1, 0, 500, 'admitted'],
    [10, 6, 4, 'admitted'],
    [10, 6, 5, 'reserved'],
  ] as const)('of %s with %s held, %s wanted: %s', (balance, held, hold, verdict) => {
    expect(judgeCeiling({ spent: nanos(0), held: nanos(held) }, nanos(balance), nanos(hold))).toBe(
      verdict,
    )
  })
})

const someSteps = fc.array(
  fc.record({
    ends: fc.nat(9),
    asks: fc.boolean(),
    hold: fc.nat(400),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 200 },
)

test('in any interleaving, settled spend stays within the ceiling and one request', () => {
  fc.assert(
    fc.property(someSteps, fc.nat(1_000), (steps, ceiling) => {
      const open: { hold: bigint; charge: bigint }[] = []
      let spent = 0n
      let largest = 0n
      const held = () => open.reduce((sum, { hold }) => sum + hold, 0n)
      const end = (index: number) => {
        const [ended] = open.splice(index, 1)
        spent += ended?.charge ?? 0n
      }
      for (const { asks, ends, hold, share } of steps) {
        if (!asks && open.length > 0) end(ends % open.length)
        const wanted = BigInt(hold)
        const verdict = judgeCeiling(
          { spent: nanos(spent), held: nanos(held()) },
          nanos(ceiling),
          nanos(wanted),
        )
        if (asks && verdict === 'admitted') {
          open.push({ hold: wanted, charge: BigInt(Math.floor(hold * share)) })
          if (wanted > largest) largest = wanted
        }
        // Strictly: the crossing request began below the ceiling.
        if (spent > 0n) expect(spent < BigInt(ceiling) + largest || largest === 0n).toBe(true)
      }
      while (open.length > 0) end(0)
      expect(spent <= BigInt(ceiling) + largest).toBe(true)
    }),
    { numRuns: FULL ? 500 : 100 },
  )
})
