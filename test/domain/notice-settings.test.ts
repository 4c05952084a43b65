/** When an event may be sent: quiet hours, over midnight too, a digest, and what wakes all the same. */
import { expect, test } from 'vitest'
import { instant, renderInstant } from '#domain/clock.ts'
import {
  DEFAULT_NOTICE_SETTINGS,
  heldUntil,
  type NoticeSettings,
  readDayMinute,
} from '#domain/notice-settings.ts'

const minute = (text: string): number => readDayMinute(text) ?? Number.NaN
const hours = (from: string, until: string) => ({ from: minute(from), until: minute(until) })

const until = (
  settings: Partial<NoticeSettings>,
  at: string,
  severity: 'warning' | 'critical' = 'warning',
): string | null => {
  const given = instant(Date.parse(`2026-11-24T${at}Z`))
  const held = heldUntil({ ...DEFAULT_NOTICE_SETTINGS, ...settings }, severity, given)
  return held && renderInstant(held)
}

const NIGHT = { quiet: hours('22:00', '07:00') }

test.each([
  ['nothing set', {}, '03:00:00', null],
  ['before the night', NIGHT, '21:59:59.999', null],
  ['in the night', NIGHT, '22:00:00', '2026-11-25T07:00:00Z'],
  ['after midnight', NIGHT, '06:59:59', '2026-11-24T07:00:00Z'],
  ['in the morning', NIGHT, '07:00:00', null],
  ['at noon', { quiet: hours('12:00', '13:30') }, '12:30:00', '2026-11-24T13:30:00Z'],
  ['before the digest', { digestAt: minute('08:00') }, '07:00:00', '2026-11-24T08:00:00Z'],
  ['after the digest', { digestAt: minute('08:00') }, '08:00:00', '2026-11-25T08:00:00Z'],
  [
    'a digest by night',
    { ...NIGHT, digestAt: minute('06:00') },
    '09:00:00',
    '2026-11-25T07:00:00Z',
  ],
])('%s', (_, settings, at, expected) => {
  expect(until(settings, at)).toBe(expected)
})

test('what is critical is held too, unless it wakes', () => {
  expect(until(NIGHT, '23:00:00', 'critical')).toBe('2026-11-25T07:00:00Z')
  expect(until({ ...NIGHT, wakesForCritical: true }, '23:00:00', 'critical')).toBeNull()
  expect(until({ ...NIGHT, wakesForCritical: true }, '23:00:00')).toBe('2026-11-25T07:00:00Z')
})

test.each(['24:00', '7:00', '07:60', '', '07:00:00'])('%s is no time of a day', (text) => {
  expect(readDayMinute(text)).toBeUndefined()
})
