/** Values of flags, by example: what is read, and what is refused by the name of its flag. */
import { describe, expect, test } from 'vitest'
import {
  readCount,
  readDuration,
  readLimitCount,
  readLimitMoney,
  readMoney,
  readSince,
  readStart,
  readUntil,
} from '#cli/flags/read-value.ts'
import { type Instant, readInstant } from '#domain/clock.ts'

const now = readInstant('2026-08-23T15:30:00Z') as Instant

describe('counts', () => {
  test.each([
    ['1', 1],
    ['60', 60],
    ['none', null],
  ])('%s is %s', (text, count) => expect(readLimitCount('--rpm', text)).toBe(count))

  test.each(['0', '-1', '1.5', '', 'None', '1e3', ' 5', '９'])('%j is refused', (text) => {
    expect(() => readLimitCount('--rpm', text)).toThrow(
      `--rpm must be a whole number of at least 1, or "none" (got "${text}")`,
    )
  })

  test('a plain count is never none', () => {
    expect(() => readCount('--limit', 'none')).toThrow('--limit must be')
  })
})

describe('money', () => {
  test.each([
    ['20', '20'],
    ['20.00', '20.00'],
    ['$20', '20'],
    ['0.000001', '0.000001'],
  ])('%s is %s', (text, amount) => expect(readMoney('--daily-usd', text)).toBe(amount))

  test.each(['', '$', '-1', '1e3', '.5', '5.', '1,5', '20 USD', 'NaN'])('%j is refused', (text) => {
    expect(() => readMoney('--daily-usd', text)).toThrow('--daily-usd must be an amount of dollars')
  })

  test('none lifts a ceiling', () => expect(readLimitMoney('--daily-usd', 'none')).toBeNull())
})

describe('durations and times', () => {
  test.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ])('%s is %i ms', (text, ms) => expect(readDuration('--drain', text)).toBe(ms))

  test.each(['', '7', 'd', '7w', '1.5h', '-1d', '7 d'])('%j is no duration', (text) => {
    expect(() => readDuration('--drain', text)).toThrow('--drain must be a duration')
  })

  test.each([
    ['today', '2026-08-23T00:00:00Z'],
    ['yesterday', '2026-08-22T00:00:00Z'],
    ['month', '2026-08-01T00:00:00Z'],
    ['2026-01-02', '2026-01-02T00:00:00Z'],
    ['7d', '2026-08-16T15:30:00Z'],
    ['2026-01-02T03:04:05+03:00', '2026-01-02T00:04:05Z'],
  ])('since %s is %s', (text, time) => expect(readSince('--since', text, now)).toBe(time))

  test.each([
    ['never', null],
    ['30d', '2026-09-22T15:30:00Z'],
    ['2026-12-01T00:00Z', '2026-12-01T00:00:00Z'],
    ['2026-12-01', '2026-12-01T00:00:00Z'],
  ])('until %s is %s', (text, time) => expect(readUntil('--expires', text, now)).toBe(time))

  test.each(['9999999d', '99999999d', '999999999d', '99999999999d'])(
    '%s leads out of the calendar, and is refused',
    (text) => {
      for (const read of [readSince, readUntil, readStart]) {
        expect(() => read('--flag', text, now)).toThrow('--flag must be a')
      }
    },
  )

  test('a start is a time or how long from now, and never "never"', () => {
    expect(readStart('--from', '30d', now)).toBe('2026-09-22T15:30:00Z')
    expect(readStart('--from', '2026-12-01T00:00Z', now)).toBe('2026-12-01T00:00:00Z')
    expect(() => readStart('--from', 'never', now)).toThrow('--from must be a time')
  })

  test('a time without an offset is refused, never guessed', () => {
    expect(() => readSince('--since', '2026-01-02T03:04:05', now)).toThrow('--since must be a time')
    expect(() => readSince('--since', '2026-02-30', now)).toThrow('--since must be a time')
    expect(() => readUntil('--expires', 'tomorrow', now)).toThrow('--expires must be a time')
  })
})
