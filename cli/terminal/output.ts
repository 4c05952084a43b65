/** What a command prints: results on standard output (a table, TSV or JSON), everything else on standard error. */

import type { Context } from '../context.ts'
import { clean } from './clean.ts'
import { carry } from './hint.ts'
import { writeError, writeOut } from './streams.ts'
import { inTone, type Tone } from './tone.ts'

export interface Column<Row> {
  readonly title: string
  /** Numbers stand right. */
  readonly right?: boolean
  /** The full value, as a script wants it; null is an empty field. */
  full(row: Row): string | number | null
  /** How a person wants it; null is a dash. */
  short?(row: Row): string | null
}

/** Colour where the terminal wants it, else the bare text. */
export const paint = (context: Context, tone: Tone, text: string): string =>
  context.color ? inTone(text, tone) : text

/** Writes lines of the result. */
export const print = (text: string): void => {
  writeOut(`${text}\n`)
}

/** Writes lines that accompany the result, commands to be pasted among them; `--quiet` silences them. */
export const tell = (context: Context, text: string): void => {
  if (!context.quiet && !context.json) writeError(`${carry(text, context.typed)}\n`)
}

/** As `--json` prints it. */
export const toJson = (record: unknown): string => JSON.stringify(record, null, 2)

export const printJson = (record: unknown): void => print(toJson(record))

/** A list: JSON array, ids only, TSV for a pipe, a table for a person. */
export function printList<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  idOf: (row: Row) => string,
): void {
  if (context.json) printJson(rows)
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
  return context.quiet
    ? rows.map((row) => clean(idOf(row)))
    : context.isTerminal
      ? toTable(context, rows, columns)
      : rows.map((row) => columns.map((column) => clean(String(column.full(row) ?? ''))).join('\t'))
}

/** One object: JSON, its id, or `name  value` lines; a pipe gets them as TSV. */
export function printRecord(
  context: Context,
  record: unknown,
  id: string,
  fields: readonly (readonly [name: string, value: string | number | null])[],
): void {
  if (context.json) printJson(record)
  else if (context.quiet) print(clean(id))
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

function toTable<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string[] {
  const cells = rows.map((row) =>
    columns.map(({ full, short }) => clean(String((short ? short(row) : full(row)) ?? '–'))),
  )
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => Bun.stringWidth(row[index] ?? ''))),
  )
  const line = (row: readonly string[]): string => {
    const padded = row.map((cell, index) => {
      const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - Bun.stringWidth(cell)))
      return columns[index]?.right ? space + cell : cell + space
    })
    return cutTo(padded.join(GAP).trimEnd(), context.columns)
  }
  const header = line(columns.map(({ title }) => title.toUpperCase()))
  return [paint(context, 'dim', header), ...cells.map(line)]
}

/** Cuts a line to the width of the terminal, its last character then `…`. */
function cutTo(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text
  let cut = ''
  let width = 0
  for (const character of text) {
    width += Bun.stringWidth(character)
    if (width > columns - 1) break
    cut += character
  }
  return `${cut}…`
}
