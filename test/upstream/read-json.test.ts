// Parsing JSON with megabytes in one string gives the same result as the language's own parser, errors included.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '#test/support/any-text.ts'
import { FULL } from '#test/support/tier.ts'
import { parseJson, parseText } from '#upstream/read-json.ts'

const LONG = 'QUJD'.repeat(50_000)

const read = (text: string) => parseJson(Buffer.from(text))
/** Compared as text: a failure need not print where megabytes differ. */
function isRead(value: unknown, indent?: number) {
  const text = JSON.stringify(value, null, indent)
  expect(JSON.stringify(read(text), null, indent) === text).toBe(true)
}

test('JSON that is nested too deeply to be serialized again is refused', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`
  const padded = (levels: number) => `[${nested(levels)},"${'x'.repeat(20_000)}"]`
  for (const parse of [read, parseText]) {
    expect(parse(padded(63))).toBeInstanceOf(Array)
    expect(parse(padded(64))).toBeUndefined()
    expect(parse(nested(100_000))).toBeUndefined()
    // Short enough to be harmless, whatever it contains.
    expect(parse(nested(1_000))).toBeInstanceOf(Array)
  }
  expect(read(`[${nested(64)},"${LONG}"${',1'.repeat(10_000)}]`)).toBeUndefined()
})

describe('a long string', () => {
  test.each([
    ['alone', LONG],
    ['in a list', [LONG, 1, LONG, null]],
    ['in a part', { data: [{ b64_json: LONG }], usage: { total_tokens: 7 } }],
    ['as a name', { [LONG]: LONG }],
    ['just long enough', ['a'.repeat(65_535), 'b'.repeat(65_536), 'c'.repeat(65_537)]],
    ['of many bytes a character', { text: 'größer 猫 😀'.repeat(20_000) }],
    ['with escapes in it', { text: `${LONG}"\\\n\u0007\u{10ffff}${LONG}` }],
    ['between escaped strings', ['\\', LONG, '\\"', LONG, '"\\\\"', LONG]],
    ['among keys of odd names', { ['__proto__']: 1, '': LONG, '"': LONG, '\\': [] }],
    ['after many short ones', [...Array.from({ length: 5_000 }, String), LONG]],
    ['before many short ones', [LONG, ...Array.from({ length: 5_000 }, String)]],
    ['and its name, apart', { [LONG]: LONG, a: { [LONG]: [1] } }],
  ])('%s', (_, value) => {
    isRead(value)
    isRead(value, 2)
  })

  test('in any surrounding JSON', () => {
    const leaf = fc.oneof(fc.constant(LONG), fc.string(), anyText())
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('node'), { maxKeys: 4 }),
      ),
    })).node
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 2), (value, indent) => {
        isRead([LONG, value], indent)
      }),
      { numRuns: FULL ? 200 : 60 },
    )
  })

  test('need not be at the start of a buffer, and may follow a byte order mark', () => {
    const bytes = Buffer.from(`"no"\ufeff${JSON.stringify({ a: LONG })}"no"`)
    const value = parseJson(bytes.subarray(4, -4))
    expect(JSON.stringify(value) === JSON.stringify({ a: LONG })).toBe(true)
  })
})

describe('invalid JSON', () => {
  test.each(['', ' ', 'QUJD', '{"a":', '"a', '<html>"', "{'a':1}"])('%j', (text) => {
    expect(read(text)).toBeUndefined()
    expect(read(`["${LONG}",${text}`)).toBeUndefined()
    expect(read(`{"a":"${LONG}`)).toBeUndefined()
  })

  test('with many quotes is refused in linear time', () => {
    const begun = performance.now()
    for (const unit of ['"', '\\"', '\\', '"\\', `"${LONG}\\"`]) {
      read(unit.repeat(Math.floor(8_000_000 / unit.length)))
      read(`"${LONG}${unit.repeat(Math.floor(8_000_000 / unit.length))}`)
    }
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})
