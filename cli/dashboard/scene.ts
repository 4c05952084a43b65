/** What a screen is drawn from: all data is computed before. */
import type { ChartRecord } from '#operator/snapshot/chart.ts'
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { clean } from '../terminal/clean.ts'
import type { Tone } from '../terminal/tone.ts'
import type { Link } from './feed.ts'
import { type Currency, figure, money } from './figures.ts'
import type { Glyphs } from './glyphs.ts'
import { type Line, type Piece, styled, toLeft, toRight } from './line.ts'
import { listOf, type View } from './view.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface Scene {
  readonly view: View
  readonly snapshot: SnapshotRecord
  readonly link: Link
  /** How long the gateway has been away; 0 while connected. */
  readonly awayMs: number
  readonly chart: ChartRecord | null
  readonly size: Size
  readonly glyphs: Glyphs
  /** The command line that started it: suggested commands repeat its global options. */
  readonly typed: readonly string[]
}

/** Below this size only a message is shown. */
export const LEAST: Size = { columns: 60, rows: 15 }
/** Below this width tables leave out less important columns. */
export const NARROW_COLUMNS = 80
/** From this size on there are two columns side by side. */
const WIDE: Size = { columns: 110, rows: 34 }

export const isWide = ({ size }: Scene): boolean =>
  size.columns >= WIDE.columns && size.rows >= WIDE.rows

const currencyOf = ({ view, snapshot, glyphs }: Scene): Currency => ({
  name: view.currency,
  rubPerUsd: snapshot.money.rub_per_usd,
  sign: glyphs.ruble,
})

export const cash = (scene: Scene, usd: string, places = 2): string =>
  money(usd, currencyOf(scene), places)

/** Without the currency sign: the title of the column has it. */
export const amount = (scene: Scene, usd: string, places = 2): string =>
  figure(usd, currencyOf(scene), places)

export const signOf = (scene: Scene): string =>
  scene.view.currency === 'usd' ? '$' : scene.glyphs.ruble

/** A horizontal rule with text in it: `─ errors ────── newest first ─`. */
export function rule(
  { glyphs, size }: Pick<Scene, 'glyphs' | 'size'>,
  left: string,
  right = '',
  columns?: number,
): Line {
  const width = columns ?? size.columns
  const start = `${glyphs.rule}${left === '' ? '' : ` ${left} `}`
  const end = right === '' ? '' : ` ${right} ${glyphs.rule}`
  const between = Math.max(0, width - Bun.stringWidth(start) - Bun.stringWidth(end))
  return [styled(toLeft(start + glyphs.rule.repeat(between) + end, width), 'dim')]
}

/** The title of a part with one account's money or keys; without its name where there is only one. */
export const ofAccount = ({ snapshot, glyphs }: Scene, title: string): string =>
  snapshot.gateway.accounts < 2 ? title : `${title} ${glyphs.dot} ${clean(snapshot.money.account)}`

/** A column of a table; `width` 0 takes the remaining columns. */
export interface Column<Row> {
  readonly title: string
  readonly width: number
  readonly right?: boolean
  text(row: Row): string
  tone?(row: Row): Tone | undefined
}

/** The header and the rows of a table, with a cursor before the selected row. Each column ends in a space. */
export function table<Row>(
  scene: Scene,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  place: number,
  markOf?: (row: Row) => Piece,
): readonly Line[] {
  const taken = columns.reduce((sum, { width }) => sum + (width === 0 ? 0 : width + 1), 0)
  const rest = Math.max(4, scene.size.columns - CURSOR_COLUMNS - taken - 1)
  const cell = ({ width, right }: Column<Row>, text: string): string =>
    `${(right ? toRight : toLeft)(text, width === 0 ? rest : width)} `
  const title: Line = [
    styled('   '),
    ...columns.map((column) => styled(cell(column, column.title), 'dim')),
  ]
  const body = rows.map((row, index): Line => {
    const isHere = index === place && scene.view.mode.kind !== 'help'
    const cells = columns.map((column): Piece => {
      const text = cell(column, column.text(row))
      return styled(text, column.tone?.(row) ?? (isHere ? 'bold' : undefined))
    })
    const mark = isHere ? styled(scene.glyphs.cursor, 'cyan') : (markOf?.(row) ?? styled(' '))
    return [styled(' '), mark, styled(' '), ...cells]
  })
  return [title, ...body]
}

const CURSOR_COLUMNS = 3

/** Exactly this many lines: cut, or filled up with empty ones. */
export const exactly = (lines: readonly Line[], height: number): readonly Line[] =>
  Array.from({ length: Math.max(0, height) }, (_, index) => lines[index] ?? [])

/** How many lines of a text do not fit on a page of this height, whose first line is its title. */
export const hiddenOf = (lines: readonly Line[], height: number): number =>
  Math.max(0, lines.length - (height - 1))

/** A page of text under its title, scrolled as far as its mode says. */
export function textPage(
  scene: Scene,
  title: string,
  about: string,
  lines: readonly Line[],
  height: number,
): readonly Line[] {
  const { glyphs, view } = scene
  const hidden = hiddenOf(lines, height)
  const top = 'top' in view.mode ? Math.min(view.mode.top, hidden) : 0
  const how =
    hidden === 0
      ? 'any key goes back'
      : `${top + 1}-${top + height - 1} of ${lines.length} ${glyphs.dot} ${glyphs.arrows} ${glyphs.dot} other keys: back`
  const right = about === '' ? how : `${about} ${glyphs.dot} ${how}`
  return exactly([rule(scene, title, right), ...lines.slice(top)], height)
}

/** "sort elapsed ↓", and the filter where there is one. */
export function orderOf(scene: Scene, sorts: readonly string[]): string {
  const { sort, isReversed, filter } = listOf(scene.view)
  const arrow = isReversed ? scene.glyphs.up : scene.glyphs.down
  const order = `${sorts[sort] ?? ''} ${arrow}`
  return filter === '' ? order : `${order} ${scene.glyphs.dot} /${filter}`
}

/** The end of an id is unique; its beginning is the time. */
export const shortId = (id: string): string => id.slice(-8)
