/** Rows of a comma-separated file (RFC 4180), one at a time, however long the file is. */
import { DocumentFault } from '#domain/document-fault.ts'

export interface CsvRow {
  /** By the names of the header. */
  readonly cells: Readonly<Record<string, string>>
  /** Where it begins, from 1. */
  readonly line: number
}

/** A longer record is none of a bill. */
const MAX_RECORD = 65_536

/** @throws DocumentFault, whose path is the line */
export async function* csvRows(pieces: AsyncIterable<string>): AsyncGenerator<CsvRow, void> {
  let header: readonly string[] | null = null
  for await (const { text, line } of recordsOf(pieces)) {
    // A byte order mark stands before the first name, in quotes or not.
    const cells = cellsOf(header === null ? text.replace(/^\uFEFF/, '') : text, line)
    if (header === null) {
      header = cells.map((name) => name.trim())
    } else if (cells.length === header.length) {
      yield { cells: Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ''])), line }
    } else {
      throw new DocumentFault([line], `has ${cells.length} fields, and the header ${header.length}`)
    }
  }
}

interface CsvRecord {
  readonly text: string
  readonly line: number
}

/** Lines, of which those belong together that a quote holds together; empty ones are left out. */
async function* recordsOf(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord, void> {
  let held = ''
  let begun = 1
  let line = 0
  for await (const one of linesOf(pieces)) {
    line++
    if (held === '') begun = line
    held = held === '' ? one : `${held}\n${one}`
    if (held.length > MAX_RECORD) throw new DocumentFault([begun], 'is a line without an end')
    if (isOpen(held)) continue
    if (held !== '') yield { text: held, line: begun }
    held = ''
  }
  if (held !== '') throw new DocumentFault([begun], 'has a quote that is not closed')
}

const isOpen = (text: string): boolean => (text.split('"').length - 1) % 2 === 1

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const one of lines) yield one.replace(/\r$/, '')
  }
  yield rest
}

const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y

function cellsOf(text: string, line: number): readonly string[] {
  const cells: string[] = []
  CELL.lastIndex = 0
  for (;;) {
    const match = CELL.exec(text)
    if (match === null) throw new DocumentFault([line], 'has a quote in the middle of a field')
    const [, quoted, bare = '', end] = match
    cells.push(quoted?.replaceAll('""', '"') ?? bare)
    if (end === '') return cells
  }
}
