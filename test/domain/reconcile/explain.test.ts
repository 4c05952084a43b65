/** What somebody else counted beside what we did: everything that can be true is explained, and nothing else. */
import { expect, test } from 'vitest'
import { type Counted, explain } from '#domain/reconcile/explain.ts'
import { FULL } from '#test/support/tier.ts'

const day = (stated: Partial<Counted>): Counted => ({
  theirs: 0n,
  exact: 0n,
  edge: 0n,
  doubted: 0n,
  most: 0n,
  ...stated,
})

test('what is exact is the same on both sides, or unexplained', () => {
  const days = [day({ exact: 100n, theirs: 100n }), day({ exact: 100n, theirs: 97n })]
  expect(explain(days, 0n).map(({ unexplained }) => unexplained)).toEqual([0n, -3n])
})

test('what ended on the next day may be counted there, and only once', () => {
  const days = [
    day({ exact: 10n, edge: 5n, theirs: 12n }),
    day({ exact: 10n, theirs: 13n }),
    day({ exact: 10n, theirs: 13n }),
  ]
  expect(explain(days, 0n)).toMatchObject([
    { to: 3n, unexplained: 0n },
    { from: 3n, unexplained: 0n },
    { from: 0n, unexplained: 3n },
  ])
})

test('what the day before the first has left may be counted on it', () => {
  expect(explain([day({ exact: 10n, theirs: 14n })], 5n)).toMatchObject([
    { from: 4n, unexplained: 0n },
  ])
})

test('what is in doubt is as it was counted here, unless it must have been otherwise', () => {
  const days = [
    day({ exact: 10n, doubted: 5n, most: 20n, theirs: 15n }),
    day({ exact: 10n, doubted: 5n, most: 20n, theirs: 28n }),
    day({ exact: 10n, doubted: 5n, most: 20n, theirs: 31n }),
    day({ exact: 10n, doubted: 5n, most: 20n, theirs: 9n }),
  ]
  expect(explain(days, 0n)).toMatchObject([
    { doubt: 5n, unexplained: 0n },
    { doubt: 18n, unexplained: 0n },
    { doubt: 20n, unexplained: 1n },
    { doubt: 0n, unexplained: -1n },
  ])
})

test('of a day that nobody told of, anything may have been left to the next', () => {
  const days = [day({ exact: 10n, edge: 5n, theirs: null }), day({ exact: 10n, theirs: 14n })]
  expect(explain(days, 0n)).toMatchObject([{ to: 4n }, { from: 4n, unexplained: 0n }])
})

/** Small numbers, by trying everything; `froms` is what the day before may have left. */
function canBeTrue(days: readonly Counted[], froms: readonly number[]): boolean {
  const [first, ...rest] = days
  if (first === undefined) return true
  const [exact, edge, most] = [Number(first.exact), Number(first.edge), Number(first.most)]
  return froms.some((from) =>
    upTo(edge).some((to) => {
      const doubt = Number(first.theirs) - exact - from - (edge - to)
      return doubt >= 0 && doubt <= most && canBeTrue(rest, [to])
    }),
  )
}

const upTo = (most: number): readonly number[] => Array.from({ length: most + 1 }, (_, at) => at)

test('whatever the numbers are: it adds up, within its bounds, and all is explained where all can be', () => {
  let state = 1
  const draw = (most: number): bigint => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return BigInt((state >> 8) % (most + 1))
  }
  let explained = 0
  const rounds = FULL ? 20_000 : 1_000
  for (let round = 0; round < rounds; round++) {
    const days = Array.from({ length: 3 }, () => {
      const most = draw(4)
      const doubted = draw(Number(most))
      return day({ exact: draw(3), edge: draw(3), doubted, most, theirs: draw(10) })
    })
    const carried = draw(2)
    const found = explain(days, carried)
    for (const [at, { from, to, doubt, unexplained }] of found.entries()) {
      const { exact, edge, most, theirs } = days[at] as Counted
      expect(exact + edge - to + from + doubt + unexplained).toBe(theirs)
      expect(to >= 0n && to <= edge && doubt >= 0n && doubt <= most).toBe(true)
      expect(from).toBe(at === 0 ? from : found[at - 1]?.to)
    }
    expect((found[0]?.from ?? 0n) <= carried).toBe(true)
    const isExplained = found.every(({ unexplained }) => unexplained === 0n)
    expect([round, isExplained]).toEqual([round, canBeTrue(days, upTo(Number(carried)))])
    if (isExplained) explained++
  }
  expect(explained).toBeGreaterThan(rounds / 20)
  expect(explained).toBeLessThan(rounds)
})
