/** Draws a scene: exactly as many lines as the terminal has, each exactly as wide. */
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { clean } from '../terminal/clean.ts'
import { cutTo } from '../terminal/cut.ts'
import { ASCII } from './glyphs.ts'
import { BLANK, dimmed, fitLine, type Line, styled } from './line.ts'
import { LEAST, type Scene, type Size } from './scene.ts'
import { detailBody } from './screens/detail.ts'
import { nameLine } from './screens/head.ts'
import { helpBody, hiddenHelp, keysLine } from './screens/help.ts'
import { keysBody } from './screens/keys.ts'
import { liveBody } from './screens/live.ts'
import { logBody } from './screens/log.ts'
import { modelsBody } from './screens/models.ts'
import { hiddenNotices, noticesBody } from './screens/notices.ts'
import { spendBody } from './screens/spend.ts'
import { keyPage, providerPage } from './screens/subject.ts'
import { trendBody } from './screens/trend.ts'
import { listOf, pageOf, type Screen } from './view.ts'

type Body = (scene: Scene, height: number) => readonly Line[]

const BODIES: Readonly<Record<Screen, Body>> = {
  live: liveBody,
  keys: keysBody,
  models: modelsBody,
  spend: spendBody,
  log: logBody,
  trend: trendBody,
}

/** The header and the footer, one line each. */
const FRAME_LINES = 2

export function draw(scene: Scene): readonly Line[] {
  const { size, link, glyphs } = scene
  if (isTooSmall(size)) return drawMessage(size, tooSmall(size))
  const body = bodyOf(scene)(scene, size.rows - FRAME_LINES)
  const old = 'sinceMs' in link ? body.map(dimmed) : body
  return fitted([nameLine(scene), ...old, lastLine(scene)], size, glyphs === ASCII)
}

type Page = Pick<Scene, 'view' | 'glyphs' | 'size'> & { readonly snapshot: SnapshotRecord | null }

/** How far the page of help, or that of notices, can be scrolled down. */
export function hiddenLines({ snapshot, ...page }: Page): number {
  const height = page.size.rows - FRAME_LINES
  if (page.view.mode.kind !== 'notices') return hiddenHelp(page, height)
  return snapshot === null ? 0 : hiddenNotices({ ...page, snapshot }, height)
}

const isTooSmall = ({ columns, rows }: Size): boolean =>
  columns < LEAST.columns || rows < LEAST.rows

const tooSmall = ({ columns, rows }: Size): string =>
  `${columns}×${rows} is too small: ${LEAST.columns}×${LEAST.rows} at least`

/** A message only, before there is anything to draw. */
export const drawMessage = (size: Size, message: string): readonly Line[] =>
  fitted([[styled(` ${message}`)]], size)

function bodyOf({ view }: Scene): Body {
  const page = pageOf(view)
  switch (page.kind) {
    case 'help':
      return helpBody
    case 'notices':
      return noticesBody
    case 'detail':
      return (scene, height) => detailBody(scene, page, height)
    case 'key':
      return (scene, height) => keyPage(scene, page.id, height)
    case 'provider':
      return (scene, height) => providerPage(scene, page.id, height)
    default:
      return BODIES[view.screen]
  }
}

/** A question, the filter being typed, the last message, or the available keys. */
function lastLine(scene: Scene): Line {
  const { view } = scene
  const { mode } = view
  if (mode.kind === 'confirm') return question(`end ${mode.title}?`, ENDING, scene.size.columns)
  if (mode.kind === 'typing') {
    const typed = lastColumns(`${listOf(view).filter}█`, scene.size.columns - FILTER_MARK.length)
    return [styled(FILTER_MARK, 'bold'), styled(typed)]
  }
  if (view.message !== null) return [styled(` ${view.message}`, 'cyan')]
  return keysLine(scene)
}

const FILTER_MARK = ' / '
const ANSWERS = '  [y/N]'

/** What follows, from the longest words to the shortest. */
const ENDING = [
  ' output so far is charged, its client gets an error',
  ' charged so far; its client gets an error',
  ' its client gets an error',
  '',
]

/** With the longest consequence that leaves room for the answers; where none does, the subject is cut. */
function question(asked: string, consequences: readonly string[], columns: number): Line {
  const room = columns - ANSWERS.length - 1
  const subject = clean(asked)
  const fits = consequences.find((one) => Bun.stringWidth(subject + one) <= room)
  const text = fits === undefined ? cutTo(subject, room) : subject + fits
  return [styled(` ${text}`, 'yellow'), styled(ANSWERS, 'bold')]
}

/** The end of a text that is being typed, where the cursor is. */
function lastColumns(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text
  const kept = [...text]
  while (Bun.stringWidth(kept.join('')) > columns - 1) kept.shift()
  return `…${kept.join('')}`
}

function fitted(lines: readonly Line[], { columns, rows }: Size, isAscii = false): readonly Line[] {
  const toSize = (line: Line): Line =>
    isAscii ? inAscii(fitLine(inAscii(line), columns)) : fitLine(line, columns)
  return Array.from({ length: rows }, (_, index) => toSize(lines[index] ?? BLANK))
}

/** Also replaces characters in names and messages. */
const inAscii = (line: Line): Line =>
  line.map((piece) => ({
    ...piece,
    text: piece.text.replace(/[^ -~]/gu, (character) => ASCII_SUBSTITUTES[character] ?? '?'),
  }))

const ASCII_SUBSTITUTES: Readonly<Record<string, string>> = {
  '…': '~',
  '–': '-',
  '×': 'x',
  '·': '-',
}
