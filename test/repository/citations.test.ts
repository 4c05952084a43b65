// Whatever comments and pages cite is there: a numbered heading of a page (`contract §8`), a trap (`traps T7`), a page.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const filesIn = (room: string, kind: RegExp): readonly string[] =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .filter((name) => kind.test(name))
    .map((name) => `${room}/${name}`)

const PAGES = filesIn('docs', /\.md$/)
const FILES = [
  'README.md',
  '.github/CONTRIBUTING.md',
  ...PAGES,
  ...['cli', 'server', 'db', 'scripts', 'test'].flatMap((room) => filesIn(room, /\.(tsx?|mjs)$/)),
]

/** Without the line ends and asterisks of a comment, so that a citation may go on in the next line. */
const textOf = (file: string): string =>
  readFileSync(file, 'utf8').replaceAll(/\n\s*(?:\*|\/\/)? */g, ' ')

/** Pages with numbered headings, by the word that cites them. */
const NUMBERS = new Map(
  PAGES.map((page): [string, readonly string[]] => [
    page.replace(/^.*\/|\.md$/g, ''),
    [...readFileSync(page, 'utf8').matchAll(/^##+ (\d+(?:\.\d+)*)\.? /gm)].map(([, at]) => `${at}`),
  ]).filter(([, numbers]) => numbers.length > 0),
)
const TRAPS = [...readFileSync('docs/traps.md', 'utf8').matchAll(/^\| (T\d+) \|/gm)].map(
  ([, trap]) => trap,
)

/** Standards of others, whose sections are their own affair. */
const ELSEWHERE = /(?:RFC \d+|OpenID Connect Core|HTML Standard|Logout 1\.0)$/

const SECTIONS = /(?<before>.{0,40}?)(?<list>§\d[\d.]*(?:(?:, |–| and )§\d[\d.]*)*)/gs

/** The citations of a file that lead nowhere. */
function deadIn(file: string): readonly string[] {
  const text = textOf(file)
  const own = NUMBERS.get(file.replace(/^.*\/|\.md$/g, ''))
  const dead: string[] = []
  for (const { groups, 0: all } of text.matchAll(SECTIONS)) {
    const before = (groups?.['before'] ?? '').replace(/,? $/, '')
    if (ELSEWHERE.test(before)) continue
    const named = NUMBERS.get((/([A-Za-z-]+)$/.exec(before)?.[1] ?? '').toLowerCase())
    const numbers = named ?? (file.endsWith('.md') ? own : undefined) ?? []
    const cited = (groups?.['list'] ?? '').match(/\d+(?:\.\d+)*/g) ?? []
    if (!cited.every((one) => numbers.includes(one))) dead.push(all)
  }
  for (const [all, list = ''] of text.matchAll(/\btraps (T\d+(?:, T\d+)*)/g)) {
    if (!list.split(', ').every((trap) => TRAPS.includes(trap))) dead.push(all)
  }
  for (const [page] of text.matchAll(/(?<![\w/.])docs\/[\w/-]+\.md/g)) {
    if (!existsSync(page)) dead.push(page)
  }
  const withoutNumber = new RegExp(
    `\\((?:${[...NUMBERS.keys()].join('|')})\\b(?! §)[^)]{0,40}`,
    'g',
  )
  // In prose such a word may stand in brackets for itself.
  return file.endsWith('.md') ? dead : [...dead, ...(text.match(withoutNumber) ?? [])]
}

test('there are pages to cite', () => {
  expect([...NUMBERS.keys()].toSorted()).toEqual(['contract', 'hardening', 'quirks'])
})

test('every citation leads somewhere', () => {
  const dead = FILES.flatMap((file) => deadIn(file).map((citation) => `${file}: ${citation}`))
  expect(dead).toEqual([])
})
