/** A line of the screen: pieces of text with their colours, cut and padded by display width. */
import { clean } from '../terminal/clean.ts'
import { cutTo } from '../terminal/cut.ts'
import { inTone, type Tone } from '../terminal/tone.ts'

export interface Piece {
  readonly text: string
  readonly tone?: Tone
}

export type Line = readonly Piece[]

/** A piece of text without control characters. */
export const styled = (text: string, tone?: Tone): Piece =>
  tone === undefined ? { text: clean(text) } : { text: clean(text), tone }

export const BLANK: Line = []

export const widthOf = (line: Line): number =>
  line.reduce((width, { text }) => width + Bun.stringWidth(text), 0)

/** Exactly this many columns, left-aligned: longer text ends in `…`. */
export function toLeft(text: string, columns: number): string {
  const cut = cutTo(text, columns)
  return cut + ' '.repeat(Math.max(0, columns - Bun.stringWidth(cut)))
}

/** The same, right-aligned. */
export function toRight(text: string, columns: number): string {
  const width = Bun.stringWidth(text)
  return width <= columns ? ' '.repeat(columns - width) + text : toLeft(text, columns)
}

/** A line of exactly this many columns. */
export function fitLine(line: Line, columns: number): Line {
  let left = columns
  const fitted: Piece[] = []
  for (const piece of line) {
    const width = Bun.stringWidth(piece.text)
    if (width <= left) {
      fitted.push(piece)
      left -= width
      continue
    }
    fitted.push({ ...piece, text: toLeft(piece.text, left) })
    left = 0
    break
  }
  if (left > 0) fitted.push({ text: ' '.repeat(left) })
  return fitted
}

/** One line at the left edge, one at the right; the left one is cut where both do not fit, with a gap between them. */
export function spread(left: Line, right: Line, columns: number): Line {
  const rest = Math.max(0, columns - widthOf(right))
  const touches = widthOf(left) > rest && right[0]?.text.startsWith(' ') === false
  const kept = touches ? fitLine(left, rest - 1) : left
  return fitLine([...fitLine(kept, rest), ...right], columns)
}

/** Two lines side by side, `columns` for the first. */
export const beside = (left: Line, columns: number, right: Line): Line => [
  ...fitLine(left, columns),
  ...right,
]

export type Painter = (text: string, tone: Tone) => string

export const inColor: Painter = inTone
export const plain: Painter = (text) => text

export const toText = (line: Line, painter: Painter): string =>
  line
    .map(({ text, tone }) => (tone === undefined || text === '' ? text : painter(text, tone)))
    .join('')

/** The line dimmed, for outdated content. */
export const dimmed = (line: Line): Line => line.map(({ text }) => ({ text, tone: 'dim' }))
