// The UTC calendar: days, months, leap years and the times people and servers write.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  dayOf,
  dayStart,
  instant,
  monthStart,
  nextDay,
  nextMonthStart,
  readHttpDate,
  readInstant,
  renderDay,
  renderInstant,
  systemClock,
  unixSeconds,
} from '#domain/clock.ts'

const at = (text: string) => instant(Date.parse(text))
const day = (date: string) => dayOf(at(`${date}T00:00:00Z`))

describe('a UTC day', () => {
  test('begins at midnight, not a millisecond before', () => {
    expect(renderDay(dayOf(at('2026-08-22T23:59:59.999Z')))).toBe('2026-08-22')
    expect(renderDay(dayOf(at('2026-08-23T00:00:00.000Z')))).toBe('2026-08-23')
    expect(renderInstant(dayStart(nextDay(day('2026-12-31'))))).toBe('2027-01-01T00:00:00Z')
  })

  test.each([
    ['2026-08-23', '2026-08-01', '2026-09-01'],
    ['2026-08-01', '2026-08-01', '2026-09-01'],
    ['2026-01-31', '2026-01-01', '2026-02-01'],
    ['2026-12-31', '2026-12-01', '2027-01-01'],
    ['2028-02-29', '2028-02-01', '2028-03-01'],
    ['2027-02-28', '2027-02-01', '2027-03-01'],
    ['2000-02-29', '2000-02-01', '2000-03-01'],
    ['2100-02-28', '2100-02-01', '2100-03-01'],
  ])('%s lies in the month from %s to %s', (date, first, next) => {
    expect(renderDay(monthStart(day(date)))).toBe(first)
    expect(renderDay(nextMonthStart(day(date)))).toBe(next)
  })

  test('every day of four centuries lies in exactly one month', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 146_097 }), (days) => {
        const today = dayOf(instant(days * 86_400_000))
        const [first, next] = [monthStart(today), nextMonthStart(today)]
        expect(first <= today && today < next).toBe(true)
        expect(monthStart(next)).toBe(next)
        expect(renderDay(first).slice(0, 7)).toBe(renderDay(today).slice(0, 7))
      }),
    )
  })
})

describe('an instant', () => {
  test('is rendered in UTC, whole seconds without a fraction', () => {
    expect(renderInstant(at('2026-08-23T00:00:00Z'))).toBe('2026-08-23T00:00:00Z')
    expect(renderInstant(at('2026-08-23T01:02:03.045Z'))).toBe('2026-08-23T01:02:03.045Z')
    expect(unixSeconds(at('2026-08-23T00:00:00.999Z'))).toBe(1_787_443_200)
  })

  test('is rendered as the calendar has it, whichever was rendered before', () => {
    const near = fc.integer({ min: 1_787_443_199_000, max: 1_787_443_201_000 })
    const any = fc.integer({ min: -8.64e15, max: 8.64e15 })
    fc.assert(
      fc.property(fc.oneof(near, any), (ms) => {
        const expected = new Date(ms).toISOString().replace('.000Z', 'Z')
        expect(renderInstant(instant(ms))).toBe(expected)
      }),
    )
  })

  test.each([
    ['2026-08-23T00:00:00Z', '2026-08-23T00:00:00Z'],
    ['2026-08-23T03:00:00+03:00', '2026-08-23T00:00:00Z'],
    ['2026-08-22T20:30-03:30', '2026-08-23T00:00:00Z'],
    ['2028-02-29T12:00:00.5Z', '2028-02-29T12:00:00.500Z'],
  ])('%s is read', (text, expected) => {
    expect(renderInstant(readInstant(text) ?? instant(0))).toBe(expected)
  })

  test.each([
    '',
    'tomorrow',
    '2026-08-23',
    '2026-08-23T00:00:00',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-08-00T00:00:00Z',
    '2026-08-23T25:00:00Z',
    '2026-08-23T23:60:00Z',
    '1755900000000',
    ' 2026-08-23T00:00:00Z',
  ])('%j is refused', (text) => {
    expect(readInstant(text)).toBeUndefined()
  })

  test('an HTTP date is read in the one form that servers write', () => {
    expect(readHttpDate('Sun, 23 Aug 2026 00:00:00 GMT')).toBe(at('2026-08-23T00:00:00Z'))
    for (const text of ['120', '', '2026-08-23T00:00:00Z', 'Sun, 23 Aug 2026 00:00:00 +0300']) {
      expect(readHttpDate(text)).toBeUndefined()
    }
  })
})

test('the system’s clock tells the time', () => {
  const before = Date.now()
  const now = systemClock.now()
  expect(now).toBeGreaterThanOrEqual(before)
  expect(now).toBeLessThanOrEqual(Date.now())
})
