/** Comma-separated lines: what a spreadsheet reads back is what was meant, and nothing in it runs. */
import { expect, test } from 'vitest'
import { spanOf } from '#cli/activity/span.ts'
import { printCsv } from '#cli/terminal/csv.ts'
import { written } from './written.ts'

function cell(value: string | number | boolean | null): string {
  written.length = 0
  printCsv(['field'], [{ field: value }])
  return written
    .join('')
    .replace(/^field\n/, '')
    .replace(/\n$/, '')
}

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  [null, ''],
  [0, '0'],
  [-1.5, '-1.5'],
  [false, 'false'],
  ['-0.5', '-0.5'],
  ['=1+1', "'=1+1"],
  ['+cmd', "'+cmd"],
  ['-2+3', "'-2+3"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['two\nlines\t', 'two\ufffdlines\ufffd'],
])('%j is %j', (value, shown) => {
  expect(cell(value)).toBe(shown)
})

test('fields stand in the order they are named in; no rows are a header', () => {
  written.length = 0
  printCsv(['b', 'a'], [{ a: 1, b: 2 }])
  printCsv(['b', 'a'], [])
  expect(written.join('')).toBe('b,a\n2,1\nb,a\n')
})

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [1_240, '1.24s'],
  [59_994, '59.99s'],
  [60_000, '1m 0s'],
  [200_900, '3m 20s'],
])('%i ms are %s', (ms, shown) => {
  expect(spanOf(ms)).toBe(shown)
})
