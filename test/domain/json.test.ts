// JSON is parsed as usual, except that integers beyond 2^53 keep their digits.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLongInteger, parseExactly } from '#domain/json.ts'

const rewrite = (text: string): string => JSON.stringify(parseExactly(text))

test('integers of any length keep their digits, wherever they stand', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n })), (list) => {
      const text = `{"a":[${list.join(',')}]}`
      expect(rewrite(text)).toBe(text)
      expect(rewrite(text.replaceAll(',', ' ,\n'))).toBe(text)
    }),
  )
})

test('everything else is what JSON.parse returns', () => {
  fc.assert(
    fc.property(fc.json(), fc.double({ noNaN: true, noDefaultInfinity: true }), (json, number) => {
      const text = `[${json},${JSON.stringify(number)},9007199254740991,1234567890123456.5,1e300]`
      expect(parseExactly(text)).toEqual(JSON.parse(text))
    }),
  )
  expect(() => parseExactly('[12345678901234567890')).toThrow(SyntaxError)
})

test('a long integer is an object of its own kind, except alone, and in a text of more than 256 KiB', () => {
  const list = (text: string) => parseExactly(text) as readonly unknown[]
  expect(list('[9007199254740993]').map(isLongInteger)).toEqual([true])
  expect(list('["9007199254740993",{"rawJSON":"1"}]').map(isLongInteger)).toEqual([false, false])
  // As exact as a double, so it stays one.
  expect(list('[9007199254740992]')).toEqual([2 ** 53])
  expect(parseExactly('9007199254740993')).toBe(2 ** 53)
  const rounded = [2 ** 53]
  expect(parseExactly('[1e300]', rounded)).toBe(rounded)
  expect(list(`[9007199254740993${' '.repeat(262_144)}]`)).toEqual([2 ** 53])
})
