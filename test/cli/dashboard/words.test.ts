/** The small things that screens are made of: filters, numbers, bars, curves, marks, and what a terminal says. */
import { describe, expect, test } from 'vitest'
import { describeWarning } from '#cli/dashboard/describe-warning.ts'
import {
  brief,
  ceilingPlaces,
  count,
  elapsed,
  figure,
  lasting,
  money,
  span,
} from '#cli/dashboard/figures.ts'
import { exactFilter, readFilter } from '#cli/dashboard/filter.ts'
import { ASCII, bar, curve, glyphsFor, UNICODE } from '#cli/dashboard/glyphs.ts'
import { readKeys } from '#cli/dashboard/keyboard.ts'
import { fitLine, styled, toLeft, toRight } from '#cli/dashboard/line.ts'
import { cutTo } from '#cli/terminal/cut.ts'
import { instant } from '#domain/clock.ts'

describe('a filter', () => {
  const row = {
    text: ['gen-1', 'prod-web', 'openai/gpt-mini', null],
    fields: { key: 'prod-web', status: 502, code: null, ms: 12_000 },
  }
  test.each([
    ['', true],
    ['prod', true],
    ['PROD gpt', true],
    ['prod nobody', false],
    ['key:prod', true],
    ['key:web', true],
    ['key:ci', false],
    ['key:"prod-web"', true],
    ['key:"PROD-web" gpt', true],
    ['key:"prod"', false],
    ['!key:"prod"', true],
    ['status:"502"', true],
    ['status:502', true],
    ['status:50', false],
    ['status:5xx', true],
    ['status:4xx', false],
    ['code:x', false],
    ['slow:10s', true],
    ['slow:12000ms', true],
    ['slow:13', false],
    ['slow:1m', false],
    ['slow:never', false],
    ['!status:4xx', true],
    ['!prod', false],
    ['!nobody', true],
    ['key:prod !status:5xx', false],
    ['nothing:here', false],
    ['!', true],
  ])('"%s" lets it pass: %s', (text, passes) => {
    expect(readFilter(text)(row)).toBe(passes)
  })
})

test('a filter for one value is for no other that holds it', () => {
  const row = (key: string) => ({ text: [key], fields: { key } })
  for (const name of ['ci', 'prod web', 'a "quoted" name']) {
    const fits = readFilter(exactFilter('key', name))
    expect([name, fits(row(name)), fits(row('ci-evals prod web 2'))]).toEqual([name, true, false])
  }
})

test('a text is cut between what is drawn as one, and is as wide as it was to be', () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}'
  expect(cutTo(`${family}${family}${family}`, 5)).toBe(`${family}${family}…`)
  expect(cutTo('cafe\u0301 au lait', 5)).toBe('cafe\u0301…')
  expect(cutTo('漢字漢字', 6)).toBe('漢字…')
  expect(cutTo('short', 5)).toBe('short')
  expect(cutTo('short', 0)).toBe('')
  for (const text of [
    `${family} and more than fits`,
    '漢字漢字漢字',
    'cafe\u0301 au lait de Paris',
  ]) {
    for (const columns of [1, 2, 5, 8]) {
      expect(Bun.stringWidth(toLeft(text, columns))).toBe(columns)
      expect(Bun.stringWidth(toRight(text, columns))).toBe(columns)
    }
  }
})

test('numbers are as short as their column', () => {
  expect([0, 999, 1_934, 1_234_567].map(count)).toEqual(['0', '999', '1 934', '1 234 567'])
  expect([9_999, 20_114, 999_499, 1_800_000].map(brief)).toEqual(['9999', '20k', '999k', '1.8M'])
  expect([400, 48_200, 99_949, 723_000, 11_520_000].map(elapsed)).toEqual([
    '0.4s',
    '48.2s',
    '99.9s',
    '12m03s',
    '3h12m',
  ])
  expect([14, 192, 40_733, 666_000].map(span)).toEqual(['14s', '3m12s', '11h18m', '7d17h'])
  expect([666_000, 1e12].map(lasting)).toEqual(['~7d17h', '>999d'])
})

test('money is dollars, or rubles at the rate', () => {
  const usd = { name: 'usd', rubPerUsd: '92.5', sign: '₽' } as const
  const rub = { ...usd, name: 'rub' } as const
  expect(money('1142.17', usd)).toBe('$1 142.17')
  expect(money('-0.0006', usd, 6)).toBe('-$0.000600')
  expect(money('142.17', rub)).toBe('13 150.73 ₽')
  expect(figure('0', usd, 4)).toBe('0.0000')
  expect(figure('55', usd, 0)).toBe('55')
  expect(figure('-0.0000001', usd)).toBe('0.00')
})

test('a bar shows anything at all, and is full only when all is used', () => {
  expect([0, 0.1, 50, 99.9, 100, 140].map((percent) => bar(UNICODE, percent, 4))).toEqual([
    '░░░░',
    '█░░░',
    '██░░',
    '███░',
    '████',
    '████',
  ])
  expect(bar(ASCII, 50, 4)).toBe('##..')
})

test('a curve is as high as its highest point, and as long as there is room', () => {
  expect(curve(UNICODE, [0, 1, 2, 7], 10)).toBe('▁▂▃█')
  expect(curve(UNICODE, [0, 0, 0], 10)).toBe('▁▁▁')
  expect(curve(UNICODE, [null, 7, null], 3)).toBe(' █ ')
  expect(curve(UNICODE, [7, 7, 0, 0, null, null], 3)).toBe('█▁ ')
  expect(curve(UNICODE, [], 3)).toBe('')
})

test.each([
  [{}, false, UNICODE],
  [{ LANG: 'en_GB.UTF-8' }, false, UNICODE],
  [{ LC_ALL: 'C', LANG: 'en_GB.UTF-8' }, false, ASCII],
  [{ LANG: 'de_DE.ISO-8859-1' }, false, ASCII],
  [{ LANG: 'C.utf8' }, true, ASCII],
  [{ LANG: 'C.utf8', GATEWAY_ASCII: '1' }, false, ASCII],
])('%o and --ascii %s', (env, wantsAscii, glyphs) => {
  expect(glyphsFor(env, wantsAscii)).toBe(glyphs)
})

test('text is cut and padded by the columns that it takes', () => {
  expect([toLeft('abc', 5), toRight('abc', 5), toLeft('abcdef', 4)]).toEqual([
    'abc  ',
    '  abc',
    'abc…',
  ])
  expect(toLeft('鍵鍵鍵', 4)).toBe('鍵… ')
  const fitted = fitLine([styled('ab'), styled('鍵鍵鍵', 'red'), styled('z')], 6)
  expect(Bun.stringWidth(fitted.map(({ text }) => text).join(''))).toBe(6)
})

test.each([
  ['5.00', '5'],
  ['0', '0'],
  ['25.50', '26'],
  ['0.05', '0.05'],
  ['2.5', '2.50'],
  ['0.0012', '0.0012'],
])('a ceiling of %s is %s: never zero for want of places', (usd, text) => {
  expect(figure(usd, { name: 'usd', rubPerUsd: '90', sign: '$' }, ceilingPlaces(usd))).toBe(text)
})

describe('keys', () => {
  const bare = {
    upArrow: false,
    downArrow: false,
    leftArrow: false,
    rightArrow: false,
    pageDown: false,
    pageUp: false,
    home: false,
    end: false,
    return: false,
    escape: false,
    ctrl: false,
    shift: false,
    tab: false,
    backspace: false,
    delete: false,
    meta: false,
    super: false,
    hyper: false,
    capsLock: false,
    numLock: false,
  }
  test('several in one piece are several', () => {
    expect(readKeys('jjj', bare)).toEqual(['j', 'j', 'j'])
    expect(readKeys('/ab\rj\u007f\u0003', bare)).toEqual([
      '/',
      'a',
      'b',
      'enter',
      'j',
      'backspace',
      'ctrl-c',
    ])
  })
  test('have their names', () => {
    expect(readKeys('', { ...bare, upArrow: true })).toEqual(['up'])
    expect(readKeys('c', { ...bare, ctrl: true })).toEqual(['ctrl-c'])
    expect(readKeys('', { ...bare, tab: true, shift: true })).toEqual(['shift-tab'])
    expect(readKeys('', { ...bare, delete: true })).toEqual(['backspace'])
    expect(readKeys('x', { ...bare, meta: true })).toEqual([])
  })
})

test('a warning says what, of how much, and when', () => {
  const now = instant(Date.parse('2026-11-21T12:00:00Z'))
  const of = { key_id: 'key_1', key_name: 'ci\u001b', used: '4.00', resets_at: null, account: 'a' }
  const tell = (more: Partial<Parameters<typeof describeWarning>[0]>) =>
    describeWarning(
      { ...of, what: 'day', level: 80, limit: '5.00', reached_at: null, ...more },
      now,
    )
  expect(tell({ what: 'rpm', level: 100, limit: '60' })).toEqual({
    mark: '!',
    text: 'ci� is at its RPM limit of 60',
  })
  expect(tell({ level: 100 })).toEqual({
    mark: '✖',
    text: 'ci� reached its daily ceiling of $5.00',
  })
  expect(tell({ level: 100, key_id: null, key_name: null }).text).toBe(
    'account a reached its daily ceiling of $5.00',
  )
  expect(tell({ what: 'month', reached_at: '2026-11-21T15:00:00Z' })).toEqual({
    mark: '!',
    text: 'ci� spent $4.00 of its monthly ceiling of $5.00, reached in 3h at this pace',
  })
})
