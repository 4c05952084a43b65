/** Lists that may be long: a terminal gets the newest rows, a pipe and a file all of them, a slice at a time. */
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount } from '../flags/read-value.ts'
import { toJson } from './clean.ts'
import { count } from './count.ts'
import { type CsvValue, csvHeader, csvLine } from './csv.ts'
import { type Column, lineOf, print, printList, printNote } from './output.ts'
import { drained, isReaderGone, writeError, writeOut } from './streams.ts'

export interface Listing<Row> {
  /** The rows after `last`, without it from the first; fewer than `limit` only where there are no more. */
  page(last: Row | undefined, limit: number): Promise<readonly Row[]>
  /** How many come after `last`; without it they are read to be counted. */
  countAfter?(last: Row): Promise<number>
  readonly columns: readonly Column<Row>[]
  idOf(row: Row): string
  readonly csv?: {
    readonly fields: readonly string[]
    cells(row: Row): Readonly<Record<string, CsvValue>>
  }
}

export interface ListingFlags {
  readonly limit?: string
  readonly csv?: boolean
}

/** For the help of `--limit`. */
export const LIMIT_HELP = 'maximum number of rows (at a terminal 50, elsewhere all)'

const USUAL_ROWS = 50
/** Some megabytes. */
const SLICE_ROWS = 5_000

/** Says on standard error what a stated limit leaves out. Returns the last row, and whether the list ended with it. */
export async function printListing<Row>(
  context: Context,
  flags: ListingFlags,
  listing: Listing<Row>,
): Promise<{ readonly last: Row | undefined; readonly isWhole: boolean }> {
  if (flags.csv && (context.json || context.quiet)) {
    throw usageError('--csv cannot be combined with --json or --quiet')
  }
  const isTable = context.isTerminal && !flags.csv && !context.json && !context.quiet
  const stated = flags.limit === undefined ? null : readCount('--limit', flags.limit)
  const most = stated ?? (isTable ? USUAL_ROWS : Number.POSITIVE_INFINITY)
  const sink = isTable ? tableOf(context, listing) : streamOf(context, flags, listing)
  let last: Row | undefined
  let printed = 0
  for await (const rows of slicesOf(listing, most)) {
    sink.put(rows)
    printed += rows.length
    last = rows.at(-1)
    await drained()
    if (isReaderGone()) return { last, isWhole: false }
  }
  sink.end()
  if (printed < most || last === undefined) return { last, isWhole: true }
  const left = await leftAfter(listing, last, stated !== null)
  if (left > 0) noteLeftOut(context, stated, left)
  return { last, isWhole: left === 0 }
}

async function* slicesOf<Row>(
  { page }: Listing<Row>,
  most: number,
): AsyncGenerator<readonly Row[], void> {
  let last: Row | undefined
  for (let left = most; left > 0; ) {
    const asked = Math.min(SLICE_ROWS, left)
    const rows = await page(last, asked)
    if (rows.length > 0) yield rows
    if (rows.length < asked) return
    left -= rows.length
    last = rows.at(-1)
  }
}

/** Without `exactly` only whether there are more: counting may take seconds. */
async function leftAfter<Row>(listing: Listing<Row>, last: Row, exactly: boolean): Promise<number> {
  if (!exactly) return (await listing.page(last, 1)).length
  if (listing.countAfter) return await listing.countAfter(last)
  let left = 0
  const rest = {
    ...listing,
    page: (row: Row | undefined, most: number) => listing.page(row ?? last, most),
  }
  for await (const rows of slicesOf(rest, Number.POSITIVE_INFINITY)) left += rows.length
  return left
}

function noteLeftOut(context: Context, stated: number | null, left: number): void {
  const note =
    stated === null
      ? `the newest ${USUAL_ROWS}; --limit N shows more, a pipe gets all`
      : `! --limit ${stated} left out ${count(left, 'more row')}`
  // A script that reads JSON is told, too: its document looks whole.
  if (context.json) writeError(`${note}\n`)
  else printNote(context, note)
}

interface Sink<Row> {
  put(rows: readonly Row[]): void
  end(): void
}

/** The widths of a table depend on all of its rows. */
function tableOf<Row>(context: Context, { columns, idOf }: Listing<Row>): Sink<Row> {
  const all: Row[] = []
  return {
    put: (rows) => void all.push(...rows),
    end: () => printList(context, all, columns, idOf),
  }
}

function streamOf<Row>(context: Context, flags: ListingFlags, listing: Listing<Row>): Sink<Row> {
  const { columns, idOf, csv } = listing
  if (flags.csv && csv) {
    print(csvHeader(csv.fields))
    return linesTo((row) => csvLine(csv.fields, csv.cells(row)))
  }
  return context.json ? arraySink() : linesTo((row) => lineOf(context, row, columns, idOf))
}

const linesTo = <Row>(render: (row: Row) => string): Sink<Row> => ({
  put: (rows) => print(rows.map(render).join('\n')),
  end: () => {},
})

/** The same text as of the whole array at once. */
function arraySink<Row>(): Sink<Row> {
  let isEmpty = true
  return {
    put(rows) {
      const items = rows.map((row) => `  ${toJson(row).replaceAll('\n', '\n  ')}`)
      writeOut(`${isEmpty ? '[' : ','}\n${items.join(',\n')}`)
      isEmpty = false
    },
    end: () => writeOut(isEmpty ? '[]\n' : '\n]\n'),
  }
}
