/** Draws a scene: exactly as many lines as the terminal has, each exactly as wide. */
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
import { spendBody } from './screens/spend.ts'
import { listOf, type Screen } from './view.ts'

type Body = (scene: Scene, height: number) => readonly Line[]

const BODIES: Readonly<Record<Screen, Body>> = {
  live: liveBody,
  keys: keysBody,
  models: modelsBody,
  spend: spendBody,
  log: logBody,
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

/** How far the help page can be scrolled down. */
export const helpScroll = (page: Pick<Scene, 'view' | 'glyphs' | 'size'>): number =>
  hiddenHelp(page, page.size.rows - FRAME_LINES)

const isTooSmall = ({ columns, rows }: Size): boolean =>
  columns < LEAST.columns || rows < LEAST.rows

const tooSmall = ({ columns, rows }: Size): string =>
  `${columns}×${rows} is too small: ${LEAST.columns}×${LEAST.rows} at least`

/** A message only, before there is anything to draw. */
export const drawMessage = (size: Size, message: string): readonly Line[] =>
  fitted([[styled(` ${message}`)]], size)

function bodyOf({ view }: Scene): Body {
  if (view.mode.kind === 'help') return helpBody
  const hasDetail = view.screen === 'live' || view.screen === 'log'
  return view.mode.kind === 'detail' && hasDetail ? detailBody : BODIES[view.screen]
}

/** A question, the filter being typed, the last message, or the available keys. */
function lastLine(scene: Scene): Line {
  const { view } = scene
  const { mode } = view
  if (mode.kind === 'confirm') {
    return [
      styled(` end ${mode.title}? output so far is charged, its client gets an error  `, 'yellow'),
      styled('[y/N]', 'bold'),
    ]
  }
  if (mode.kind === 'typing') return [styled(' / ', 'bold'), styled(`${listOf(view).filter}█`)]
  if (view.message !== null) return [styled(` ${view.message}`, 'cyan')]
  return keysLine(scene)
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
