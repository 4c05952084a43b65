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
import { type Effort, startGateway, startMock } from './house.ts'
import { residentMebibytes } from './process.ts'

const STARTS = 5
const MOST_COST_RATIO = 1.15

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
      await comparePasts(small, large, effort),
      await compareWindows(large, effort),
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

async function comparePasts(small: Books, large: Books, effort: Effort): Promise<boolean> {
  const gateways = {
    small: await startGateway(small.dataDir),
    large: await startGateway(large.dataDir),
  }
  try {
    const contender = (which: 'small' | 'large', { asking }: Books) => ({
      pid: gateways[which].pid,
      target: targetOf(gateways[which], asking),
    })
    const contenders = { small: contender('small', small), large: contender('large', large) }
    const figures = await contest(['small', 'large'], contenders, roundsOf(effort))
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

async function compareWindows({ dataDir, short, long }: Books, effort: Effort): Promise<boolean> {
  const gateway = await startGateway(dataDir)
  try {
    const contenders = {
      short: { pid: gateway.pid, target: targetOf(gateway, [short]) },
      long: { pid: gateway.pid, target: targetOf(gateway, [long]) },
    }
    const figures = await contest(['short', 'long'], contenders, roundsOf(effort))
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
  const ratio = figures.ratio('cpuMicros')
  const isWithin = ratio <= MOST_COST_RATIO
  console.log(
    `  ${names[1]} / ${names[0]}: requests per second ${figures.ratio('rps').toFixed(2)}, ` +
      `CPU per request ${ratio.toFixed(2)}, at most ${MOST_COST_RATIO}: ${isWithin ? 'kept' : 'BROKEN'}`,
  )
  return isWithin
}
