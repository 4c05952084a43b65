/** One cell of the matrix as a table: a row for each who took part, medians first, then ratios to a bare proxy. */
import type { Comparison, Figure } from '../compare.ts'
import { type Cell, titleOf } from './cells.ts'
import type { SubjectName } from './subjects.ts'

/** Below it a core was waiting, so that the load was the limit, and the CPU of an answer says more than the rate. */
const BUSY = 0.95
/** From so many connections on a core is expected to have no rest. */
export const MANY_CONNECTIONS = 32

export interface Outcome {
  readonly cell: Cell
  readonly names: readonly SubjectName[]
  readonly figures: Comparison<SubjectName>
  /** The one that ratios are taken to. */
  readonly reference: SubjectName
}

type Column = readonly [title: string, of: (name: SubjectName) => string]

export function printTable(outcome: Outcome): void {
  const columns = columnsOf(outcome)
  const rows = [
    columns.map(([title]) => title),
    ...outcome.names.map((name) => columns.map(([, of]) => of(name))),
  ]
  const widths = columns.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)))
  console.log(`\n${titleOf(outcome.cell)}: × beside ${outcome.reference}`)
  for (const row of rows) {
    const cells = row.map((text, n) =>
      n ? text.padStart(widths[n] ?? 0) : text.padEnd(widths[0] ?? 0),
    )
    console.log(`  ${cells.join('  ')}`)
  }
}

function columnsOf({ cell, figures, reference }: Outcome): readonly Column[] {
  const { chunks, name: kind } = cell.kind
  const of =
    (figure: Figure, digits = 0, scale = 1) =>
    (name: SubjectName): string =>
      inDigits(figures.of(name, figure) * scale, digits)
  const ratio = (figure: Figure) => (name: SubjectName) =>
    inDigits(figures.ratio(figure, name, reference), 2)
  const busy = (name: SubjectName): string => {
    const share = figures.of(name, 'busy')
    return share.toFixed(2) + (cell.connections >= MANY_CONNECTIONS && share < BUSY ? '*' : ' ')
  }
  const streaming: readonly Column[] = [
    ['chunks/s', of('rps', 0, chunks)],
    ['CPU µs/chunk', of('cpuMicros', 2, 1 / chunks)],
    ['first µs', of('firstP50Micros')],
    ['added', (name) => inDigits(figures.difference('firstP50Micros', name, reference), 0)],
  ]
  return [
    ['', (name) => name],
    ['req/s', of('rps')],
    ['p50 µs', of('p50Micros')],
    ['p99 µs', of('p99Micros')],
    ['CPU µs', of('cpuMicros', 1)],
    ...(chunks > 0 ? streaming : []),
    ...(kind === 'held' ? ([['held', of('held')]] as const) : []),
    ['busy ', busy],
    ['MiB', of('residentMebibytes')],
    ['opened %', of('newConnections', 2, 100)],
    ['×req/s', ratio('rps')],
    ['×p50', ratio('p50Micros')],
    ['×p99', ratio('p99Micros')],
    ['×CPU', ratio('cpuMicros')],
  ]
}

/** A dash where there is nothing to compare with. */
const inDigits = (number: number, digits: number): string =>
  Number.isNaN(number) ? '-' : number.toFixed(digits)
