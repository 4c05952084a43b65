// What counts as base64: decoded piece by piece, and judged as the pattern it replaces would.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isBase64 } from '#runtime/base64.ts'
import { FULL } from '#test/support/tier.ts'

/** The definition, for texts short enough. */
const byPattern = (text: string): boolean =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1

describe('base64', () => {
  test.each([
    ['iVBORw0KGgo=', true],
    ['iVBORw0KGgo', true],
    ['AA==', true],
    ['AA=', true],
    ['AAA', true],
    ['AAAA', true],
    ['', false],
    ['=', false],
    ['==', false],
    ['A', false],
    ['AAAAA', false],
    ['A===', false],
    ['AA=A', false],
    ['AAAA AAAA', false],
    ['AAAA\n', false],
    ['\tAAAA', false],
    ['AA-_', false],
    ['AAA%', false],
    ['AAAé', false],
    ['AAA猫', false],
  ])('%j: %j', (text, expected) => {
    expect(isBase64(text)).toBe(expected)
  })

  test('judges any text as the pattern does', () => {
    const letters = fc.constantFrom(...'AZaz09+/=-_ \n\té'.split(''))
    const almost = fc.array(letters, { maxLength: 12 }).map((units) => units.join(''))
    fc.assert(
      fc.property(almost, (text) => {
        expect(isBase64(text)).toBe(byPattern(text))
      }),
      { numRuns: FULL ? 5_000 : 250 },
    )
  })

  test('of more than one piece is wrong wherever it is wrong', () => {
    const text = 'QUJD'.repeat(50_000)
    expect(isBase64(text)).toBe(true)
    expect(isBase64(`${text}QQ==`)).toBe(true)
    for (const at of [0, 65_535, 65_536, 131_071, 150_000, text.length - 1]) {
      for (const wrong of ['%', ' ', '=', 'é']) {
        expect(isBase64(text.slice(0, at) + wrong + text.slice(at + 1)), `${wrong} at ${at}`).toBe(
          wrong === '=' && at === text.length - 1,
        )
      }
    }
  })
})
