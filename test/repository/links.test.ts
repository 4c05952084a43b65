// Every link of the pages that leads to this repository leads to something: a file, or a heading of one.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const PAGES = [
  'README.md',
  '.github/CONTRIBUTING.md',
  '.github/SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Without what is between fences. */
const proseOf = (page: string): string =>
  readFileSync(page, 'utf8').replaceAll(/^```.*?^```$/gms, '')

/** As headings are addressed where such pages are shown. */
const anchorsOf = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

test.each(PAGES)('%s', (page) => {
  const links = [...proseOf(page).matchAll(/\]\((?!\w+:)([^)]+)\)/g)].map(([, link = '']) => link)
  const dead = links.filter((link) => {
    const [path = '', anchor] = link.replaceAll(/\s/g, '').split('#')
    const file = path === '' ? page : normalize(join(dirname(page), path))
    if (!existsSync(file)) return true
    return anchor !== undefined && !anchorsOf(file).includes(anchor)
  })
  expect(dead).toEqual([])
})
