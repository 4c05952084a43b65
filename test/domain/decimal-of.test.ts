/** Numbers as a file has them: never by way of a float. */
import { expect, test } from 'vitest'
import { decimalOf, parseAsWritten } from '#domain/json.ts'

test.each([
  ['2.50', '2.5'],
  ['1e-7', '0.0000001'],
  ['2.5E+3', '2500'],
  ['12.5e1', '125'],
  ['0.30000000000000004', '0.30000000000000004'],
  ['-0.06', '-0.06'],
  ['100', '100'],
  ['0', '0'],
  ['9007199254740993', '9007199254740993'],
  ['0.0e5', '0'],
])('%s is %s', (written, plain) => {
  expect(decimalOf(parseAsWritten(written))).toBe(plain)
  expect(decimalOf(written)).toBe(plain)
})

test('nothing else is a decimal', () => {
  for (const other of ['', 'x', '1.', '.5', '1,5', '0x10', null, true, [], {}]) {
    expect([other, decimalOf(other)]).toEqual([other, undefined])
  }
})
