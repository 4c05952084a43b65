/** Limits of the gateway relative to other servers, and whether the measured cells keep them. */
import { type Cell, KINDS, titleOf } from './cells.ts'
import { MANY_CONNECTIONS, type Outcome } from './table.ts'

interface Limit {
  readonly title: string
  readonly holdsFor: (cell: Cell) => boolean
  readonly measure: (outcome: Outcome) => number
  /** The same by CPU, for when a core was waiting. */
  readonly byCpu?: (outcome: Outcome) => number
  readonly least?: number
  readonly most?: number
}

const [WHOLE, STREAM, PACED] = KINDS
const LATENCY_CONNECTIONS = 256

const LIMITS: readonly Limit[] = [
  {
    title: "of the bare buffered proxy's requests a second",
    holdsFor: ({ kind, connections }) => kind === WHOLE && connections >= MANY_CONNECTIONS,
    measure: ({ figures }) => figures.ratio('rps', 'gateway', 'bare-buffered'),
    byCpu: ({ figures }) => figures.ratio('cpuMicros', 'bare-buffered', 'gateway'),
    least: 0.8,
  },
  {
    title: "of the bare streaming proxy's chunks a second",
    holdsFor: ({ kind, connections }) => kind === STREAM && connections >= MANY_CONNECTIONS,
    measure: ({ figures }) => figures.ratio('rps', 'gateway', 'bare-streaming'),
    byCpu: ({ figures }) => figures.ratio('cpuMicros', 'bare-streaming', 'gateway'),
    least: 0.85,
  },
  {
    title: "of the bare streaming proxy's time to the first token",
    holdsFor: ({ kind, connections }) => (kind === STREAM || kind === PACED) && connections === 1,
    measure: ({ figures }) => figures.ratio('firstP50Micros', 'gateway', 'bare-streaming'),
    most: 1.2,
  },
  {
    title: 'µs at p50 over the bare buffered proxy',
    holdsFor: ({ kind, connections }) => kind === WHOLE && connections === 1,
    measure: ({ figures }) => figures.difference('p50Micros', 'gateway', 'bare-buffered'),
    most: 150,
  },
  {
    title: "of the bare buffered proxy's p99",
    holdsFor: ({ kind, connections }) => kind === WHOLE && connections === LATENCY_CONNECTIONS,
    measure: ({ figures }) => figures.ratio('p99Micros', 'gateway', 'bare-buffered'),
    most: 1.5,
  },
  {
    title: 'new upstream connections for each request',
    holdsFor: ({ kind, connections }) => kind === WHOLE && connections === LATENCY_CONNECTIONS,
    measure: ({ figures }) => figures.of('gateway', 'newConnections'),
    most: 0.02,
  },
  {
    title: "times Portkey's requests a second",
    holdsFor: ({ kind, connections }) => kind === WHOLE && connections >= MANY_CONNECTIONS,
    measure: ({ figures }) => figures.ratio('rps', 'gateway', 'portkey'),
    byCpu: ({ figures }) => figures.ratio('cpuMicros', 'portkey', 'gateway'),
    least: 20,
  },
]

/** Prints a line for each limit in each cell; false when one is broken. What was not measured breaks nothing. */
export function printLimits(outcomes: readonly Outcome[]): boolean {
  let isWithin = true
  console.log('\nlimits of the gateway')
  for (const { title, holdsFor, measure, byCpu, least, most } of LIMITS) {
    for (const outcome of outcomes.filter(({ cell }) => holdsFor(cell))) {
      const value = measure(outcome)
      if (Number.isNaN(value)) continue
      const isKept = value >= (least ?? value) && value <= (most ?? value)
      isWithin &&= isKept
      const bound = least === undefined ? `at most ${most}` : `at least ${least}`
      const second = byCpu ? ` (by CPU ${byCpu(outcome).toFixed(3)})` : ''
      console.log(
        `  ${isKept ? 'kept  ' : 'BROKEN'}  ${value.toFixed(3).padStart(8)}, ${bound}${second}, ${title}: ${titleOf(outcome.cell)}`,
      )
    }
  }
  return isWithin
}
