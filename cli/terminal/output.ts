/** Output of a command: results on standard output (a table, TSV or JSON), everything else on standard error. */
import type { Context } from '../context.ts'
import { clean, toJson } from './clean.ts'
import { cutTo } from './cut.ts'
import { noteLine } from './log-line.ts'
import { writeError, writeOut } from './streams.ts'
import { inTone, type Tone } from './tone.ts'
import { withTypedFlags } from './typed-flags.ts'

export interface Column<Row> {
  readonly title: string
  /** Right-aligned, for numbers; never cut. */
  readonly right?: boolean
  /** A long id: a narrow terminal shows only its end. */
  readonly isId?: boolean
  /** A text that a narrow terminal cuts no further while other columns can be dropped. */
  readonly least?: number
  /** A narrow terminal drops columns in this order, 1 first; without it the column stays, as money does. */
  readonly dropOrder?: number
  /** A table leaves the column out where no row has a value; a script gets it always. */
  readonly isSparse?: boolean
  /** The full value, for scripts; null is an empty field. */
  full(row: Row): string | number | null
  /** The value for people; null is a dash. */
  short?(row: Row): string | null
}

/** Colour where the terminal wants it, else the bare text. */
export const paint = (context: Context, tone: Tone, text: string): string =>
  context.color ? inTone(text, tone) : text

/** Writes lines of the result. */
export const print = (text: string): void => {
  writeOut(`${text}\n`)
}

/** Writes a note to standard error, with the global options added to commands in it; silent with `--quiet` and `--json`. */
export const printNote = (context: Context, text: string): void => {
  if (context.quiet || context.json) return
  const note = withTypedFlags(text, context.typed)
  writeError(context.isJsonLog ? noteLine(context.clock, note) : `${note}\n`)
}

/** A note of what was done. */
export const noteDone = (context: Context, text: string): void =>
  printNote(context, `${paint(context, 'green', '✓')} ${text}`)

/** What a change leaves: its record as JSON, with `--quiet` an id, else a note of it. */
export function printDone(context: Context, record: unknown, id: string, text: string): void {
  if (context.json) printJson(record)
  else if (context.quiet) print(id)
  else noteDone(context, text)
}

export const printJson = (record: unknown): void => print(toJson(record))

/** A list: JSON array, ids only, TSV for a pipe, a table for a person. */
export function printList<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  idOf: (row: Row) => string,
): void {
  if (context.json) printJson(rows)
  // A header without rows would look like a bug.
  else if (rows.length === 0 && context.isTerminal) printNote(context, 'nothing to list')
  else printLines(linesOf(context, rows, columns, idOf))
}

const printLines = (lines: readonly string[]): void => {
  if (lines.length > 0) print(lines.join('\n'))
}

function linesOf<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  idOf: (row: Row) => string,
): readonly string[] {
  return context.isTerminal && !context.quiet
    ? toTable(context, rows, columns)
    : rows.map((row) => lineOf(context, row, columns, idOf))
}

/** One row for a pipe: its id with `--quiet`, else the full values of its columns. */
export const lineOf = <Row>(
  { quiet }: Pick<Context, 'quiet'>,
  row: Row,
  columns: readonly Column<Row>[],
  idOf: (row: Row) => string,
): string =>
  quiet
    ? clean(idOf(row))
    : columns.map((column) => clean(String(column.full(row) ?? ''))).join('\t')

/** One object: JSON, its id (nothing where that is empty), or `name  value` lines; a pipe gets them as TSV. */
export function printRecord(
  context: Context,
  record: unknown,
  id: string,
  fields: readonly (readonly [name: string, value: string | number | null])[],
): void {
  if (context.json) printJson(record)
  else if (context.quiet) printLines(id === '' ? [] : [clean(id)])
  else printLines(fieldLines(context, fields))
}

function fieldLines(
  context: Context,
  fields: readonly (readonly [name: string, value: string | number | null])[],
): readonly string[] {
  const width = Math.max(...fields.map(([name]) => name.length)) + 2
  return fields.map(([name, value]) =>
    context.isTerminal
      ? `${paint(context, 'dim', name.padEnd(width))}${clean(String(value ?? '–'))}`
      : `${name}\t${clean(String(value ?? ''))}`,
  )
}

const GAP = '  '
/** Minimum width of a text column while other columns can be dropped, unless it says another, and after that. */
const MIN_TEXT_COLUMNS = 16
const MIN_COLUMNS = 4

function toTable<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string[] {
  const filled = columns.filter(
    ({ isSparse, full }) => !isSparse || rows.some((row) => full(row) !== null),
  )
  const all = filled.map((column) => {
    const { title, right = false, full, short, isId = false, dropOrder = null } = column
    const { least = MIN_TEXT_COLUMNS } = column
    const cells = rows.map((row) => clean(String((short ? short(row) : full(row)) ?? '–')))
    return toStrip({ title: title.toUpperCase(), right, isId, least, dropOrder, cells })
  })
  const strips = fitting(all, context.columns)
  const line = (cellOf: (strip: Strip) => string): string => {
    const padded = strips.map((strip) => {
      const cell = cutTo(cellOf(strip), strip.width)
      const space = ' '.repeat(Math.max(0, strip.width - Bun.stringWidth(cell)))
      return strip.right ? space + cell : cell + space
    })
    return cutTo(padded.join(GAP).trimEnd(), context.columns)
  }
  return [
    paint(
      context,
      'dim',
      line(({ title }) => title),
    ),
    ...rows.map((_, index) => line(({ cells }) => cells[index] ?? '')),
  ]
}

/** A column as it is drawn. */
interface Strip {
  readonly title: string
  readonly right: boolean
  readonly isId: boolean
  readonly least: number
  readonly dropOrder: number | null
  readonly cells: readonly string[]
  readonly width: number
}

const toStrip = (strip: Omit<Strip, 'width'>): Strip => ({
  ...strip,
  width: strip.cells.reduce(
    (most, cell) => Math.max(most, Bun.stringWidth(cell)),
    Bun.stringWidth(strip.title),
  ),
})

const excess = (strips: readonly Strip[], columns: number): number =>
  strips.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length) - columns

/** Shortens ids first, then cuts the last wide text, then drops columns in their order; numbers are never cut. */
function fitting(strips: readonly Strip[], columns: number): readonly Strip[] {
  if (excess(strips, columns) <= 0) return strips
  let kept: readonly Strip[] = strips.map((strip) =>
    strip.isId ? toStrip({ ...strip, cells: strip.cells.map(shortId) }) : strip,
  )
  for (;;) {
    const cut = cutLastText(kept, columns)
    if (excess(cut, columns) <= 0) return cut
    const next = Math.min(...kept.map(({ dropOrder }) => dropOrder ?? Number.POSITIVE_INFINITY))
    if (next === Number.POSITIVE_INFINITY) break
    kept = kept.filter(({ dropOrder }) => dropOrder !== next)
  }
  // No more columns can be dropped: cuts the remaining texts, the last first.
  for (const least of [MIN_TEXT_COLUMNS, MIN_COLUMNS]) {
    for (let texts = kept.length; texts > 0 && excess(kept, columns) > 0; texts--) {
      kept = cutLastText(kept, columns, least)
    }
  }
  return kept
}

/** Cuts the last text column that is wider than `least`, by default its own, but not below that. */
function cutLastText(
  strips: readonly Strip[],
  columns: number,
  least: number | null = null,
): readonly Strip[] {
  const wide = strips.findLastIndex(
    ({ right, width, least: own }) => !right && width > (least ?? own),
  )
  const tooMuch = Math.max(0, excess(strips, columns))
  return strips.map((strip, index) =>
    index === wide
      ? { ...strip, width: Math.max(least ?? strip.least, strip.width - tooMuch) }
      : strip,
  )
}

/** "key_…4k2m9x": ids of one day begin alike and differ at their ends. */
const shortId = (id: string): string => id.replace(/^([a-z]+[_-]).{2,}(.{6})$/, '$1…$2')
