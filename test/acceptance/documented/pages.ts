/** The pages that people read, and what in them is meant to be typed. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** README.md and the pages below docs, by their paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .toSorted(),
]

export const readPage = (page: string): string => readFileSync(ROOT + page, 'utf8')

/** A fenced block as it stands. */
export interface Block {
  readonly language: string
  readonly text: string
  /** That of its fence, from 1. */
  readonly line: number
}

export function blocksOf(page: string): readonly Block[] {
  const text = readPage(page)
  return [...text.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    line: text.slice(0, match.index).split('\n').length,
  }))
}

/** Something to type at once, and the lines that the page shows below it. */
export interface Typed {
  readonly where: string
  readonly text: string
  readonly shown: readonly string[]
}

/** Blocks in `sh` whole; of `console`, and of bare blocks, what follows a `$ `. What a bare one shows is an illustration. */
export function typedIn(page: string): readonly Typed[] {
  return blocksOf(page).flatMap(({ language, text, line }) => {
    const where = `${page}:${line}`
    if (language === 'sh') return [{ where, text, shown: [] }]
    if (language !== 'console' && language !== '') return []
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((session) => {
        const [, command = '', below = ''] = /^((?:[^\n]*\\\n)*[^\n]*\n)(.*)$/s.exec(session) ?? []
        const shown = language === 'console' ? below.split('\n') : []
        return { where, text: command, shown: shown.filter((one) => /[^\s…]/.test(one)) }
      })
  })
}
