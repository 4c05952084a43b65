/** Pace: how long a balance lasts, and which ceilings deserve a word. */
import { describe, expect, test } from 'vitest'
import { type Day, dayOf, instant } from '#domain/clock.ts'
import { judgePace, toRunway } from '#domain/snapshot/pace.ts'
import { usd } from '#test/support/nouns.ts'

const at = (time: string) => instant(Date.parse(time))
const NOON = at('2026-11-21T12:00:00Z')
const today = dayOf(NOON)
const spends = (...daily: readonly (readonly [daysAgo: number, amount: string])[]) =>
  daily.map(([daysAgo, amount]) => ({ day: (today - daysAgo) as Day, spent: usd(amount) }))
const DAY = 86_400_000

describe('runway', () => {
  test('is the balance by the mean of the last seven full days, days of rest among them', () => {
    const history = spends([20, '99'], [8, '50'], [7, '3'], [3, '4'], [1, '7'], [0, '1000'])
    expect(toRunway(usd('20'), history, NOON)).toEqual({ ms: 10 * DAY, meanDay: usd('2'), days: 7 })
  })

  test('is the mean of fewer days while there are no seven', () => {
    expect(toRunway(usd('10'), spends([2, '3'], [1, '5'], [0, '100']), NOON)).toEqual({
      ms: 2.5 * DAY,
      meanDay: usd('4'),
      days: 2,
    })
  })

  test("is today's pace before there are two full days", () => {
    expect(toRunway(usd('10'), spends([1, '3'], [0, '1']), NOON)).toEqual({
      ms: 5 * DAY,
      meanDay: usd('2'),
      days: 0,
    })
    // Of the first minutes of a day no more is concluded than of its first hour.
    const early = at('2026-11-21T00:01:00Z')
    expect(toRunway(usd('24'), spends([0, '1']), early).meanDay).toBe(usd('24'))
  })

  test('is unknown where nothing is spent, and nothing where nothing is left', () => {
    expect(toRunway(usd('10'), [], NOON).ms).toBeNull()
    expect(toRunway(usd('10'), spends([9, '1']), NOON).ms).toBeNull()
    expect(toRunway(usd('-1'), spends([9, '1'], [1, '7']), NOON).ms).toBe(0)
  })
})

describe('a ceiling', () => {
  const judge = (spent: string, ceiling: string | null, time = NOON) =>
    judgePace('day', usd(spent), ceiling === null ? null : usd(ceiling), time)

  test.each([
    ['4.99', null],
    ['7.99', 50],
    ['8', 80],
    ['9.99', 80],
    ['10', 100],
    ['12', 100],
  ])('of $10 with $%s gone at noon', (spent, level) => {
    expect(judge(spent, '10')?.level ?? null).toBe(level)
  })

  test('half gone is a word only where the rest will not last', () => {
    const evening = at('2026-11-21T22:00:00Z')
    expect(judge('6', '10')).toMatchObject({ level: 50, reachedAt: at('2026-11-21T20:00:00Z') })
    expect(judge('6', '10', evening)).toBeNull()
    expect(judge('8', '10', evening)).toMatchObject({ level: 80, reachedAt: null })
    expect(judge('5', '10', at('2026-11-21T06:00:00Z'))?.level).toBe(50)
  })

  test('of a month resets with it', () => {
    expect(judgePace('month', usd('10'), usd('10'), NOON)).toMatchObject({
      level: 100,
      resetsAt: at('2026-12-01T00:00:00Z'),
    })
  })

  test('that is none, or nothing, warns of nothing', () => {
    expect(judge('5', null)).toBeNull()
    expect(judge('0', '0')).toBeNull()
  })
})
