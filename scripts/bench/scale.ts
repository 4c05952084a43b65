/** Part `scale`: a gateway with a long past beside one with none, and a full window beside a short one. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Comparison, contest, median, type Rounds } from './compare.ts'
import { type FilledKey, openFiller } from './fill.ts'
import {
  type AnswerRoute,
  bodyFor,
  type Effort,
  furnish,
  gatewayctl,
  startGateway,
  startMock,
} from './house.ts'
import { type LoadTarget, load } from './load.ts'
import { type Measured, residentMebibytes } from './process.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
/** Of each directory's keys so many ask in turn. */
const ASKING_KEYS = 1_000
const FULL_LIMIT = 100_000
const FULL_USED = 99_000
const SHORT_USED = 10
/** Out of reach of whatever a round sends. */
const FAR_LIMIT = 1_000_000_000
const STARTS = 5
const MOST_COST_RATIO = 1.15
/** How long the first use of a full window may hold up everybody else, beyond what a busy machine does by itself. */
const MOST_PAUSE_MS = 20

export interface ScaleEffort extends Effort {
  readonly rows: number
  readonly keys: number
}

/** A directory and the keys to ask with. */
interface Books {
  readonly dataDir: string
  readonly asking: readonly FilledKey[]
  /** At its limit but for a thousand; one for every start. */
  readonly full: readonly FilledKey[]
  /** As many requests in its window, and a short one, both with a limit out of reach. */
  readonly long: FilledKey
  readonly short: FilledKey
}

/** Measures and prints; false when a ratio or a pause is beyond its bound. */
export async function scale(effort: ScaleEffort): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const mock = await startMock()
  try {
    const small = fill(join(scratch, 'small'), mock.origin, { rows: 0, keys: ASKING_KEYS })
    const large = fill(join(scratch, 'large'), mock.origin, effort)
    await compareStarts(small, large)
    const verdicts = [
      await comparePasts(small, large, effort),
      await compareWindows(large, effort),
      await firstUse(large),
    ]
    console.log(`\n${gatewayctl(large.dataDir, ['audit'])}`)
    return verdicts.every(Boolean)
  } finally {
    await mock.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

function fill(
  dataDir: string,
  mock: string,
  { rows, keys }: Pick<ScaleEffort, 'rows' | 'keys'>,
): Books {
  const begin = performance.now()
  furnish(dataDir, mock, [ROUTE])
  const filler = openFiller(dataDir)
  const ordinary = filler.issue(keys, FAR_LIMIT)
  filler.spend(ordinary, rows)
  const full = filler.issue(STARTS, FULL_LIMIT)
  const [long, short] = filler.issue(2, FAR_LIMIT)
  if (!long || !short) throw new Error('no keys')
  if (rows > 0) for (const key of [...full, long]) filler.spendToday(key, FULL_USED)
  if (rows > 0) filler.spendToday(short, SHORT_USED)
  filler.close()
  const seconds = (performance.now() - begin) / 1000
  const bytes = statSync(join(dataDir, 'gateway.db')).size
  console.log(
    `filled: ${keys} keys, ${rows} requests, ${(bytes / 2 ** 20).toFixed(0)} MiB in ${seconds.toFixed(0)} s`,
  )
  // From all over the directory, as chance would have it.
  const asking = ordinary.filter((_, n) => n % Math.ceil(keys / ASKING_KEYS) === 0)
  return { dataDir, asking, full, long, short }
}

const targetOf = ({ origin }: Measured, keys: readonly FilledKey[]): LoadTarget => ({
  origin,
  path: '/v1/chat/completions',
  keys: keys.map(({ secret }) => secret),
  body: bodyFor(ROUTE),
})

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

/** After a restart, the first request of a key whose window is nearly full, while another key asks one by one. */
async function firstUse({ dataDir, asking, full }: Books): Promise<boolean> {
  const firstMs: number[] = []
  const pauseMs: number[] = []
  const calmMs: number[] = []
  let isExact = true
  for (const key of full) {
    const gateway = await startGateway(dataDir)
    try {
      const other = targetOf(gateway, asking.slice(0, 1))
      await load(other, 1, { seconds: 0.5 })
      calmMs.push((await load(other, 1, { seconds: 0.5 })).longestMicros / 1000)
      const others = load(other, 1, { seconds: 0.5 })
      await Bun.sleep(100)
      const first = await load(targetOf(gateway, [key]), 1, { answers: 1 })
      firstMs.push(first.p50Micros / 1000)
      pauseMs.push((await others).longestMicros / 1000)
      const free = FULL_LIMIT - FULL_USED - 1
      const rest = await load(targetOf(gateway, [key]), 32, { answers: free + 100 })
      isExact &&= first.bad === 0 && rest.bad === 100
    } finally {
      await gateway.stop()
    }
  }
  const millis = (of: readonly number[]): string => of.map((one) => one.toFixed(1)).join(' ')
  // A pause of ours is there every time; the machine's own come and go.
  const isShort = Math.min(...pauseMs) - Math.min(...calmMs) <= MOST_PAUSE_MS
  console.log(
    `\nfirst use of a window with ${FULL_USED} of ${FULL_LIMIT}, after a restart: ms, ${STARTS} times`,
  )
  console.log(`  its answer:              ${millis(firstMs)}`)
  console.log(`  longest of another key:  ${millis(pauseMs)} (${isShort ? 'kept' : 'BROKEN'})`)
  console.log(`  the same without it:     ${millis(calmMs)}`)
  console.log(`  then what is left is served, and no more: ${isExact ? 'exactly' : 'NOT EXACT'}`)
  return isShort && isExact
}
