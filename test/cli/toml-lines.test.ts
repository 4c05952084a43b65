/** Lines of values in a TOML text, and of the statement that keeps it from being TOML. */
import { expect, test } from 'vitest'
import { lineOf, lineOfFault } from '#cli/toml-lines.ts'

const TEXT = `# a comment = "x"
listen = "127.0.0.1:1" # [table]

[rates]
usd_rub = "95"

[[keys]]
name = "a ] = \\" b"
allowed_models = [ # several
  "demo/*",
  "x = y",
]

[[keys]]
"name" = 'it''s'
note = """
[[keys]]
name = "no"
"""
limits.rpm = 5
last = { name = "inline", a = { b = 1 } }

[[models]]
[models.price]
in_usd = "1"
[[models.route]]
provider = "p"
[[models.route]]
provider = "q"
[[models]]
id = 'two'
  [models.price]
  out_usd = "2"
`

test.each([
  ['listen', 2],
  ['rates', 4],
  ['rates.usd_rub', 5],
  ['keys', 7],
  ['keys.0', 7],
  ['keys.0.name', 8],
  ['keys.0.allowed_models.1', 9],
  ['keys.1', 14],
  ['keys.1.name', 15],
  ['keys.1.note', 16],
  ['keys.1.limits', 20],
  ['keys.1.limits.rpm', 20],
  ['keys.1.last.a.b', 21],
  ['keys.1.missing', 14],
  ['models.0.price.in_usd', 25],
  ['models.0.route.0.provider', 27],
  ['models.0.route.1.provider', 29],
  ['models.1', 30],
  ['models.1.price.out_usd', 33],
  ['nowhere', null],
])('%s is on line %s', (path, line) => {
  expect(lineOf(TEXT.replaceAll("''", ''), path.split('.'))).toBe(line)
  expect(lineOf(TEXT.replaceAll("''", '').replaceAll('\n', '\r\n'), path.split('.'))).toBe(line)
})

test.each([
  ['', null],
  ['a = 1\n\n[b]\nc = "x"\n', null],
  ['listen =', 1],
  ['a = 1\nb = \nc = 3\n', 2],
  ['a = 1\n\n[b\nc = 3\n', 3],
  ['a = "x\nb = 2\n', 1],
  ['a = 1\nb = [1,\n2\nc = 3\n', 2],
  ['a = 1\n# b\n"c = 3\n', 3],
  ['a = 1\nb = """\nc = 3\n', 2],
  ['a = 1\nb = 1\na = 2\nd = 4', 3],
])('%j is no TOML from line %s on', (text, line) => {
  expect(lineOfFault(text)).toBe(line)
})
