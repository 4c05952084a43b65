/** Part `scale`: a gateway with a long past beside one with none, and a full window beside a short one. */
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
const MOST_COST_RATIO = 1.15
/** Of the requests a second, what a long past must leave. */
const LEAST_RATE_RATIO = 0.95

/** What is measured, and over what past. */
export type ScaleEffort = Effort & Past

/** Measures and prints; false when a ratio or a pause is beyond its bound. */
export async function scale(effort: ScaleEffort): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const mock = await startMock()
  try {
    const small = openBooks(join(scratch, 'small'), mock.origin, { rows: 0, keys: ASKING_KEYS })
    const large = openBooks(join(scratch, 'large'), mock.origin, effort)
    await compareStarts(small, large)
    const verdicts = [
      await comparePasts(mock, small, large, effort),
      await compareWindows(mock, large, effort),
      await firstUse(large),
    ]
    return verdicts.every(Boolean)
  } finally {
    await mock.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function compareStarts(small: Books, large: Books): Promise<void> {
  const millis = { small: [] as number[], large: [] as number[] }
  for (let n = 0; n < STARTS; n++) {
    for (const [which, { dataDir }] of [['small', small] as const, ['large', large] as const]) {
      const begin = performance.now()
      const gateway = await startGateway(dataDir)
      millis[which].push(performance.now() - begin)
      await gateway.stop()
    }
  }
  const of = (which: 'small' | 'large'): string => `${median(millis[which]).toFixed(0)} ms`
  console.log(`\nserve listens after: small ${of('small')}, large ${of('large')}`)
}

async function comparePasts(
  mock: Measured,
  small: Books,
  large: Books,
  effort: Effort,
): Promise<boolean> {
  const gateways = {
    small: await startGateway(small.dataDir),
    large: await startGateway(large.dataDir),
  }
  try {
    const contender = (which: 'small' | 'large', { asking }: Books) => ({
      pid: gateways[which].pid,
      target: targetOf(gateways[which], asking),
      mock,
    })
    const contenders = { small: contender('small', small), large: contender('large', large) }
    const figures = await contest(contenders, roundsOf(effort))
    const mebibytes = (which: 'small' | 'large'): string =>
      residentMebibytes(gateways[which].pid).toFixed(0)
    console.log(`\n${ASKING_KEYS} keys in turn, ${describeEffort(effort)}`)
    const isWithin = print(['small', 'large'], figures)
    console.log(`  resident: small ${mebibytes('small')} MiB, large ${mebibytes('large')} MiB`)
    return isWithin
  } finally {
    await Promise.all([gateways.small.stop(), gateways.large.stop()])
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
    return print(['short', 'long'], figures)
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

function print<Name extends string>(
  names: readonly [Name, Name],
  figures: Comparison<Name>,
): boolean {
  for (const which of names) {
    const millis = (figure: 'p50Micros' | 'p99Micros'): string =>
      (figures.of(which, figure) / 1000).toFixed(2)
    console.log(
      `  ${which.padEnd(6)}${figures.of(which, 'rps').toFixed(0).padStart(8)} req/s ` +
        `${figures.of(which, 'cpuMicros').toFixed(1).padStart(6)} µs CPU/req   ` +
        `p50 ${millis('p50Micros')} ms   p99 ${millis('p99Micros')} ms`,
    )
  }
  const [first, second] = names
  const cost = figures.ratio('cpuMicros', second, first)
  const rate = figures.ratio('rps', second, first)
  const isWithin = cost <= MOST_COST_RATIO && rate >= LEAST_RATE_RATIO
  console.log(
    `  ${second} / ${first}: requests per second ${rate.toFixed(3)}, at least ${LEAST_RATE_RATIO}; ` +
      `CPU per request ${cost.toFixed(2)}, at most ${MOST_COST_RATIO}: ${isWithin ? 'kept' : 'BROKEN'}`,
  )
  return isWithin
}
