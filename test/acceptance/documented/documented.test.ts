// Every command that README.md and the pages below docs tell you to type is typed, page by page, in order, against the compiled program.
import { describe, expect, test } from 'vitest'
import { PAGES, typedIn } from './pages.ts'
import { PLANS } from './plans.ts'
import { walk } from './shell.ts'

/** Numbers, ids and secrets differ from one run to the next, and a terminal alone is told how far off a time is. */
const toShape = (line: string): string =>
  line
    .replace(/ \(in \w+\)$/, '')
    .replaceAll(/\b([a-z]{2,6}[-_])[0-9A-Za-z]{3,}…?/g, '$1')
    .replaceAll(/\d[\d.,:]*/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** An ellipsis stands for anything. */
function isShown(line: string, said: string): boolean {
  const parts = toShape(line)
    .split('…')
    .map((part) => RegExp.escape(part.trim()))
  const pattern = new RegExp(`^${parts.join('.*')}`)
  return said.split('\n').some((one) => pattern.test(toShape(one)))
}

const pages = PAGES.filter((page) => typedIn(page).length > 0)

describe.each(pages)('%s', (page) => {
  const plan = PLANS[page] ?? {}

  test('works from its first command to its last, and says what it shows', async () => {
    const { code, told, before } = await walk(typedIn(page), plan)
    const last = told.findLast(({ said }) => said !== null)
    const where = last
      ? `${last.where}\n${last.really}\n${last.said}`
      : `before the page\n${before}`
    expect(code, where).toBe(0)
    for (const { where: at, really, said, shown } of told) {
      if (really === '') continue
      const missing = shown.filter((line) => !isShown(line, said ?? ''))
      expect(missing, `${at}\n${said}`).toEqual([])
    }
  })

  test('has every line that its plan speaks of', () => {
    const text = typedIn(page)
      .map((one) => one.text)
      .join('')
    const { inPlace = {}, notHere = {}, blocksNotHere = {}, ends = {} } = plan
    const spoken = [inPlace, notHere, blocksNotHere, ends].flatMap((part) => Object.keys(part))
    expect(spoken.filter((part) => !text.includes(part))).toEqual([])
  })
})

test('every plan has its page', () => {
  expect(Object.keys(PLANS).filter((page) => !pages.includes(page))).toEqual([])
})
