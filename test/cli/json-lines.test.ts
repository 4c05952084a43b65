/** Lines of values in a JSON text, and of what keeps it from being JSON. */
import { expect, test } from 'vitest'
import { lineOfFault, lineOfValue } from '#cli/json-lines.ts'

const TEXT = `{
  "a.b": { "c": [
    1, { "d": "}]\\"" },
    -2.5e3
  ] },
  "e": [], "f": {},
  "g": true
}
`

test.each([
  [['a.b'], 2],
  [['a.b', 'c', 0], 3],
  [['a.b', 'c', 1, 'd'], 3],
  [['a.b', 'c', 2], 4],
  [['e'], 6],
  [['g'], 7],
  [['a.b', 'c', 1, 'none'], 3],
  [['none'], 1],
])('%j is in line %i', (path, line) => {
  expect(lineOfValue(TEXT, path)).toBe(line)
})

test('a fault is where the text stops being JSON', () => {
  expect(lineOfFault(TEXT)).toBeNull()
  for (const [text, line] of [
    ['', 1],
    ['{\n"a": 1,\n}', 3],
    ['[1,\n2\n3]', 3],
    ['{"a":\n tru}', 2],
    ['{"a": 1}\n\nx', 3],
    ['["a\nb"]', 1],
    ['{\n"a" 1}', 2],
    ['[[1],\n[2]', 2],
  ] as const) {
    expect([text, lineOfFault(text)]).toEqual([text, line])
  }
})
