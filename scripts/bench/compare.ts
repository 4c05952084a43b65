/** Puts the bare proxy and the gateway through the same answers in turns, and takes every ratio inside its round. */
import type { AnswerRoute, House } from './house.ts'
import { type LoadResult, load, type Until } from './load.ts'
import { cpuMicros } from './process.ts'

export interface Sample extends LoadResult {
  readonly rps: number
  /** Of one answer. */
  readonly cpuMicros: number
}

type Figure = 'rps' | 'cpuMicros' | 'p50Micros' | 'p99Micros'

export interface Comparison {
  /** The median over the rounds. */
  of(which: 'bare' | 'gateway', figure: Figure): number
  /** Gateway / bare: the median of the rounds' ratios. */
  ratio(figure: Figure): number
}

interface Rounds {
  readonly connections: number
  readonly rounds: number
  readonly until: Until
}

/** Warms both up first. @throws Error when an answer is not 200 */
export async function compare(
  house: House,
  route: AnswerRoute,
  { connections, rounds, until }: Rounds,
): Promise<Comparison> {
  const samples = { bare: [] as Sample[], gateway: [] as Sample[] }
  const warmth: Until = { seconds: 1, answers: until.answers ?? Number.POSITIVE_INFINITY }
  await take(house, 'bare', route, connections, warmth)
  await take(house, 'gateway', route, connections, warmth)
  for (let round = 0; round < rounds; round++) {
    // Whoever goes first changes with every round, so that a drift of the machine favours nobody.
    for (const which of round % 2 ? (['gateway', 'bare'] as const) : (['bare', 'gateway'] as const))
      samples[which].push(await take(house, which, route, connections, until))
  }
  return {
    of: (which, figure) => median(samples[which].map((one) => one[figure])),
    ratio: (figure) =>
      median(
        samples.gateway.map(
          (one, round) => one[figure] / (samples.bare[round]?.[figure] ?? Number.NaN),
        ),
      ),
  }
}

async function take(
  house: House,
  which: 'bare' | 'gateway',
  route: AnswerRoute,
  connections: number,
  until: Until,
): Promise<Sample> {
  const { pid } = house[which]
  const before = cpuMicros(pid)
  const result = await load(house.target(which, route), connections, until)
  if (result.bad > 0) throw new Error(`${result.bad} answers were not 200`)
  return {
    ...result,
    rps: result.requests / result.seconds,
    cpuMicros: (cpuMicros(pid) - before) / result.requests,
  }
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
