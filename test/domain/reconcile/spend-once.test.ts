/** One request in doubt, and a bill with much that is not ours: the doubt is spent once over all of its rows. */
import { expect, test } from 'vitest'
import { type Day, dayOf, instant } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { UsdAttos, UsdNanos } from '#domain/money.ts'
import { compare, type Row } from '#domain/reconcile/compare.ts'
import { noSum, type ServedDay } from '#domain/reconcile/served.ts'
import type { Bill, Billed } from '#domain/reconcile/side-by-side.ts'

const DAY = dayOf(instant(Date.parse('2026-10-07T12:00:00Z')))
const MICRO = 1_000_000_000_000n
/** A millionth of a dollar a token. */
const PRICES = { least: MICRO as UsdAttos, most: MICRO as UsdAttos }
const HOLD_MICROS = 7_530n

/** `models` have each a stream whose client hung up, charged at ten tokens. */
const DOUBT: ServedDay['doubts'] = {
  hung_up: {
    requests: 1,
    most: (HOLD_MICROS * 1_000n) as UsdNanos,
    examples: [{ id: 'gen-1' as GenerationId, most: (HOLD_MICROS * 1_000n) as UsdNanos }],
  },
}
const served = (model: string, hasTools = true): ServedDay => ({
  day: DAY,
  model,
  charged: 10_000n as UsdNanos,
  cells: new Map([
    [
      'output_tokens',
      {
        exact: noSum(),
        edge: noSum(),
        doubted: { hung_up: { requests: 1, units: 10, amount: (10n * MICRO) as UsdAttos } },
        leastPrice: PRICES.least,
        mostPrice: PRICES.most,
      },
    ],
  ]),
  doubts: DOUBT,
  toolDoubts: hasTools ? DOUBT : {},
  begun: { requests: 1, byReason: { hung_up: 1 }, most: (HOLD_MICROS * 1_000n) as UsdNanos },
  stated: { exact: noSum(), edge: noSum() },
})

const line = (
  model: string | null,
  className: string,
  micros: bigint,
  counts: boolean,
): Billed => ({
  day: DAY as Day,
  model,
  className,
  units: counts ? Number(micros) : null,
  amount: (micros * MICRO) as UsdAttos,
  lines: 1,
})

function rowsOf(
  lines: readonly Billed[],
  counts: boolean,
  models = ['m'],
  withTools = models,
): readonly Row[] {
  const books = {
    days: models.map((model) => served(model, withTools.includes(model))),
    nameOf: (model: string) => model,
    pricesOf: (_: string, className: string) => (className === 'output_tokens' ? PRICES : null),
  }
  const bill: Bill = { lines, grain: 'classes', counts, amounts: true, days: new Set([DAY]) }
  return compare(books, bill, DAY, (DAY + 1) as Day)
}

const unexplained = (rows: readonly Row[]): bigint =>
  rows.reduce((sum, row) => sum + row.unexplained, 0n) / MICRO

for (const counts of [false, true]) {
  const told = counts ? 'counts' : 'amounts alone'
  test(`a bill of ${told}: what one request may have cost explains that much, over all classes and tools`, () => {
    const classes = ['output_tokens', 'audio_tokens', 'image_tokens']
    const lines = [
      ...classes.map((name) => line('m', name, 7_500n, counts)),
      line(null, 'web_search', 7_500n, counts),
    ]
    // The classes of which the books know no price are unexplained whole once they are in part.
    const found = unexplained(rowsOf(lines, counts))
    expect(found).toBeGreaterThanOrEqual(4n * 7_500n - HOLD_MICROS)
    expect(found).toBeLessThanOrEqual(4n * 7_500n - HOLD_MICROS + (counts ? 40n : 3n))
    expect(unexplained(rowsOf(lines.slice(0, 1), counts))).toBe(0n)
    expect(unexplained(rowsOf(lines.slice(3), counts))).toBe(0n)
  })
}

test('each model has its own, and tools what all of them leave', () => {
  const both = ['m', 'n']
  const own = both.map((model) => line(model, 'output_tokens', HOLD_MICROS, true))
  expect(unexplained(rowsOf(own, true, both))).toBe(0n)
  const tool = line(null, 'web_search', HOLD_MICROS, true)
  expect(unexplained(rowsOf([...own.slice(0, 1), tool], true, both))).toBe(0n)
  expect(unexplained(rowsOf([...own, tool], true, both))).toBe(HOLD_MICROS)
})

test('a request that asked for no tools explains none of their money, however little else is unexplained', () => {
  const tool = line(null, 'web_search', HOLD_MICROS, true)
  const both = ['m', 'n']
  expect(unexplained(rowsOf([tool], true, ['m'], []))).toBe(HOLD_MICROS)
  expect(unexplained(rowsOf([tool], true, both, ['n']))).toBe(0n)
  // What the one with tools has left is not what the other has.
  const spent = line('n', 'output_tokens', HOLD_MICROS, true)
  expect(unexplained(rowsOf([spent, tool], true, both, ['n']))).toBe(HOLD_MICROS)
  const others = line('m', 'output_tokens', HOLD_MICROS, true)
  expect(unexplained(rowsOf([others, tool], true, both, ['n']))).toBe(0n)
})
