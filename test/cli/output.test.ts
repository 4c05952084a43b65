/** What a command prints: a table for a person, tab-separated lines for a pipe, never a control character. */
import { describe, expect, test } from 'vitest'
import type { Context } from '#cli/context.ts'
import { openContext } from '#cli/context.ts'
import { exitCodeOf } from '#cli/exit.ts'
import { clean, toJson } from '#cli/terminal/clean.ts'
import { logLine } from '#cli/terminal/log-line.ts'
import { type Column, printList } from '#cli/terminal/output.ts'
import { bytes, duration, relativeTime } from '#cli/terminal/relative-time.ts'
import { unavailable } from '#db/sqlite/engine/disk.ts'
import { type Instant, readInstant, systemClock } from '#domain/clock.ts'
import { written } from './written.ts'

interface Row {
  readonly name: string
  readonly rpm: number | null
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'rpm', right: true, full: ({ rpm }) => rpm },
]

const ROWS: readonly Row[] = [
  { name: 'prod', rpm: 300 },
  { name: '漢字', rpm: null },
  { name: 'evil\u001b[2J\tx\u202e', rpm: 5 },
]

interface Bill {
  readonly name: string
  readonly id: string
  readonly models: string
}

const BILLS: readonly Bill[] = [
  {
    name: 'prod-web',
    id: 'key_01j9x2aaaaaaaaaaaaaa4k2m9x',
    models: 'openai/gpt-5, acme/m, acme/n',
  },
  { name: 'ci', id: 'key_01j9x2aaaaaaaaaaaaaa4k2m9y', models: 'all' },
]

const BILL_COLUMNS: readonly Column<Bill>[] = [
  { title: 'name', full: ({ name }) => name },
  { title: 'id', isId: true, dropOrder: 2, full: ({ id }) => id },
  { title: 'rpm', right: true, dropOrder: 1, full: () => 300 },
  { title: 'day $', right: true, full: () => '6.02/25' },
  { title: 'models', dropOrder: 3, full: ({ models }) => models },
]

function billed(columns: number): readonly string[] {
  written.length = 0
  const context = { ...openContext({}, {}), isTerminal: true, color: false, columns }
  printList(context, BILLS, BILL_COLUMNS, ({ id }) => id)
  return written.join('').trimEnd().split('\n')
}

function printed(changes: Partial<Context>): string {
  written.length = 0
  printList({ ...openContext({}, {}), ...changes }, ROWS, COLUMNS, ({ name }) => name)
  return written.join('')
}

describe('a list', () => {
  test('for a pipe is tab-separated, without a header, with empty fields', () => {
    expect(printed({ isTerminal: false })).toBe('prod\t300\n漢字\t\nevil�[2J�x�\t5\n')
  })

  test('for a person has a header, right-aligned numbers and a dash for nothing', () => {
    expect(printed({ isTerminal: true, color: false, columns: 80 })).toBe(
      ['NAME         RPM', 'prod         300', '漢字           –', 'evil�[2J�x�    5', ''].join(
        '\n',
      ),
    )
  })

  test('is cut to the width of the terminal: text, and no number', () => {
    const lines = printed({ isTerminal: true, color: false, columns: 12 }).split('\n')
    expect(lines.slice(0, 4)).toEqual([
      'NAME     RPM',
      'prod     300',
      '漢字       –',
      'evil�[…    5',
    ])
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(12)
  })

  test('too wide: ids are shortened, then the last text, then columns go; money never does', () => {
    expect(billed(86)[1]).toBe(
      'prod-web  key_01j9x2aaaaaaaaaaaaaa4k2m9x  300  6.02/25  openai/gpt-5, acme/m, acme/n',
    )
    expect(billed(66)[1]).toBe('prod-web  key_…4k2m9x  300  6.02/25  openai/gpt-5, acme/m, acme/n')
    expect(billed(56)).toEqual([
      'NAME      ID           RPM    DAY $  MODELS',
      'prod-web  key_…4k2m9x  300  6.02/25  openai/gpt-5, acme…',
      'ci        key_…4k2m9y  300  6.02/25  all',
    ])
    expect(billed(50)[1]).toBe('prod-web  key_…4k2m9x  6.02/25  openai/gpt-5, acm…')
    expect(billed(40)[1]).toBe('prod-web  6.02/25  openai/gpt-5, acme/m…')
    expect(billed(18)).toEqual(['NAME        DAY $', 'prod-web  6.02/25', 'ci        6.02/25'])
    expect(billed(14)).toEqual(['NAME     DAY $', 'prod…  6.02/25', 'ci     6.02/25'])
  })

  test('a text that is to be read gets the room of columns that may go', () => {
    const drawn = (least: number) => {
      const message = { title: 'what', least, full: () => 'account acme has reached its ceiling' }
      const seen = { title: 'seen', dropOrder: 1, full: () => 'no' }
      const id = { title: 'event', dropOrder: 2, full: () => 'evt_1' }
      const columns = [id, { title: 'state', full: () => 'open' }, seen, message]
      written.length = 0
      const context = { ...openContext({}, {}), isTerminal: true, color: false, columns: 40 }
      printList(context, [1], columns, String)
      return written.join('').split('\n')[1]
    }
    expect(drawn(20)).toBe('evt_1  open   no    account acme has re…')
    expect(drawn(24)).toBe('evt_1  open   account acme has reached …')
    expect(drawn(30)).toBe('open   account acme has reached its cei…')
  })

  test('a column that few rows fill is in a table where one does, and for a pipe always', () => {
    const columns: readonly Column<Row>[] = [
      { title: 'name', full: ({ name }) => name },
      { title: 'rpm', right: true, isSparse: true, full: ({ rpm }) => rpm },
    ]
    const listed = (rows: readonly Row[], isTerminal: boolean): string => {
      written.length = 0
      const context = { ...openContext({}, {}), isTerminal, color: false, columns: 80 }
      printList(context, rows, columns, ({ name }) => name)
      return written.join('')
    }
    const [set, unset] = [
      { name: 'a', rpm: 3 },
      { name: 'b', rpm: null },
    ]
    expect(listed([unset], true)).toBe('NAME\nb\n')
    expect(listed([set, unset], true)).toBe('NAME  RPM\na       3\nb       –\n')
    expect(listed([unset], false)).toBe('b\t\n')
  })

  test('quiet is ids only', () => {
    expect(printed({ quiet: true })).toBe('prod\n漢字\nevil�[2J�x�\n')
  })

  test('in JSON keeps every character, escaped', () => {
    expect(JSON.parse(printed({ json: true }))).toEqual(ROWS)
  })
})

test('T39: control characters of every kind are shown, never sent', () => {
  expect(clean('a\u0000\u0007\u001b\u007f\u009b\u2028\u200f\u2066b')).toBe(`a${'�'.repeat(8)}b`)
  expect(clean('ключ 漢字 ≋ …')).toBe('ключ 漢字 ≋ …')
})

test('times and sizes read in passing', () => {
  const now = readInstant('2026-08-23T12:00:00Z') as Instant
  expect(relativeTime('2026-08-23T11:56:00Z', now)).toBe('4m ago')
  expect(relativeTime('2026-08-25T12:00:00Z', now)).toBe('in 2d')
  expect(relativeTime('2026-08-23T12:00:00Z', now)).toBe('now')
  expect(relativeTime(null, now)).toBeNull()
  expect([duration(4), duration(725), duration(273_600), duration(0)]).toEqual([
    '4s',
    '12m 5s',
    '3d 4h',
    '0s',
  ])
  expect([bytes(12), bytes(4_096), bytes(412_000_000)]).toEqual(['12 B', '4.1 kB', '412 MB'])
})

test('JSON has no control character that a terminal would obey, and is the same JSON', () => {
  const record = { user: 'evil\u009b2J\u007f\u001b[2J' }
  expect(toJson(record)).not.toMatch(/[\p{Cc}--\n]/v)
  expect(JSON.parse(toJson(record))).toEqual(record)
  const line = logLine(systemClock, 'error', record.user)
  expect(line).not.toMatch(/[\p{Cc}--\n]/v)
  expect(JSON.parse(line).msg).toBe(record.user)
})

test('a full disk is a failure, and no server that is missing', () => {
  expect([exitCodeOf(unavailable('full')), exitCodeOf(unavailable('locked'))]).toEqual([1, 4])
})
