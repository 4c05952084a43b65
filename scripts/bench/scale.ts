/** Part `scale`: a gateway with a long past beside those with a tenth of it and with none, and a full window beside a short one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ASKING_KEYS,
  type Books,
  FULL_USED,
  openBooks,
  type Past,
  SHORT_USED,
  targetOf,
} from './books.ts'
import { type Comparison, contest, median, type Rounds } from './compare.ts'
import { firstUse } from './first-use.ts'
import { type Measured, residentMebibytes } from './process.ts'
import { type Effort, startGateway, startMock } from './rig.ts'

const STARTS = 5
const MAX_COST_RATIO = 1.15
/** Of the requests a second, what a long past must leave. */
const MIN_RATE_RATIO = 0.95

/** What is measured, and over what past. */
export type ScaleEffort = Effort & Past

/** No past, a tenth of the long one among as many keys, and the long one. */
const PASTS = ['none', 'tenth', 'large'] as const
type PastName = (typeof PASTS)[number]
type PastBooks = Readonly<Record<PastName, Books>>

/** Measures and prints; false when a ratio or a pause is beyond its bound. */
export async function scale(effort: ScaleEffort): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const mock = await startMock()
  try {
    const { rows, keys } = effort
    const open = (name: PastName, past: Past): Books =>
      openBooks(join(scratch, name), mock.origin, past)
    const none = open('none', { rows: 0, keys: ASKING_KEYS })
    const tenth = open('tenth', { rows: Math.floor(rows / 10), keys })
    const large = open('large', { rows, keys })
    const books: PastBooks = { none, tenth, large }
    await compareStarts(books)
    const verdicts = [
      await comparePasts(mock, books, effort),
      await compareWindows(mock, large, effort),
      await firstUse(large),
    ]
    return verdicts.every(Boolean)
  } finally {
    await mock.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function compareStarts(books: PastBooks): Promise<void> {
  const millis: Record<PastName, number[]> = { none: [], tenth: [], large: [] }
  for (let n = 0; n < STARTS; n++) {
    for (const which of PASTS) {
      const begin = performance.now()
      const gateway = await startGateway(books[which].dataDir)
      millis[which].push(performance.now() - begin)
      await gateway.stop()
    }
  }
  const told = PASTS.map((which) => `${which} ${median(millis[which]).toFixed(0)} ms`)
  console.log(`\nserve listens after: ${told.join(', ')}`)
}

async function comparePasts(mock: Measured, books: PastBooks, effort: Effort): Promise<boolean> {
  const gateways = {
    none: await startGateway(books.none.dataDir),
    tenth: await startGateway(books.tenth.dataDir),
    large: await startGateway(books.large.dataDir),
  }
  try {
    const contender = (which: PastName) => ({
      pid: gateways[which].pid,
      target: targetOf(gateways[which], books[which].asking),
      mock,
    })
    const contenders = {
      none: contender('none'),
      tenth: contender('tenth'),
      large: contender('large'),
    }
    const figures = await contest(contenders, roundsOf(effort))
    console.log(`\n${ASKING_KEYS} keys in turn, ${describeEffort(effort)}`)
    for (const which of PASTS) printOne(which, figures)
    const told = PASTS.map(
      (which) => `${which} ${residentMebibytes(gateways[which].pid).toFixed(0)} MiB`,
    )
    console.log(`  resident: ${told.join(', ')}`)
    const verdicts = [judge('large', 'tenth', figures), judge('large', 'none', figures)]
    return verdicts.every(Boolean)
  } finally {
    await Promise.all(PASTS.map((which) => gateways[which].stop()))
  }
}

async function compareWindows(
  mock: Measured,
  { dataDir, short, long }: Books,
  effort: Effort,
): Promise<boolean> {
  const gateway = await startGateway(dataDir)
  try {
    const contenders = {
      short: { pid: gateway.pid, target: targetOf(gateway, [short]), mock },
      long: { pid: gateway.pid, target: targetOf(gateway, [long]), mock },
    }
    const figures = await contest(contenders, roundsOf(effort))
    console.log(
      `\na day window of ${SHORT_USED} requests at first, and of ${FULL_USED}: ${describeEffort(effort)}`,
    )
    printOne('short', figures)
    printOne('long', figures)
    return judge('long', 'short', figures)
  } finally {
    await gateway.stop()
  }
}

const roundsOf = ({ connections, rounds, seconds }: Effort): Rounds => ({
  connections,
  rounds,
  until: { seconds },
})

const describeEffort = ({ connections, rounds, seconds }: Effort): string =>
  `${connections} connections, ${rounds} rounds of ${seconds} s`

function printOne<Name extends string>(which: Name, figures: Comparison<Name>): void {
  const millis = (figure: 'p50Micros' | 'p99Micros'): string =>
    (figures.of(which, figure) / 1000).toFixed(2)
  console.log(
    `  ${which.padEnd(6)}${figures.of(which, 'rps').toFixed(0).padStart(8)} req/s ` +
      `${figures.of(which, 'cpuMicros').toFixed(1).padStart(6)} µs CPU/req   ` +
      `p50 ${millis('p50Micros')} ms   p99 ${millis('p99Micros')} ms`,
  )
}

/** Prints the ratios of the one to the other; false when one of them is beyond its bound. */
function judge<Name extends string>(second: Name, first: Name, figures: Comparison<Name>): boolean {
  const cost = figures.ratio('cpuMicros', second, first)
  const rate = figures.ratio('rps', second, first)
  const isWithin = cost <= MAX_COST_RATIO && rate >= MIN_RATE_RATIO
  console.log(
    `  ${second} / ${first}: requests per second ${rate.toFixed(3)}, at least ${MIN_RATE_RATIO}; ` +
      `CPU per request ${cost.toFixed(2)}, at most ${MAX_COST_RATIO}: ${isWithin ? 'kept' : 'BROKEN'}`,
  )
  return isWithin
}
