/** Puts two servers through the same answers in turns, and takes every ratio inside its round. */
import type { AnswerRoute, House } from './house.ts'
import { type LoadResult, type LoadTarget, load, type Until } from './load.ts'
import { cpuMicros } from './process.ts'

/** Whose CPU is measured, and what it is asked. */
export interface Contender {
  readonly pid: number
  readonly target: LoadTarget
}

export interface Sample extends LoadResult {
  readonly rps: number
  /** Of one answer. */
  readonly cpuMicros: number
}

type Figure = 'rps' | 'cpuMicros' | 'p50Micros' | 'p99Micros'

export interface Comparison<Name extends string> {
  /** The median over the rounds. */
  of(which: Name, figure: Figure): number
  /** Second / first: the median of the rounds' ratios. */
  ratio(figure: Figure): number
}

export interface Rounds {
  readonly connections: number
  readonly rounds: number
  readonly until: Until
}

/** The same answer from the bare proxy and from the gateway. @throws Error when an answer is not 200 */
export const compare = (
  house: House,
  route: AnswerRoute,
  rounds: Rounds,
): Promise<Comparison<'bare' | 'gateway'>> =>
  contest(
    ['bare', 'gateway'],
    {
      bare: { pid: house.bare.pid, target: house.target('bare', route) },
      gateway: { pid: house.gateway.pid, target: house.target('gateway', route) },
    },
    rounds,
  )

/** Warms both up first. @throws Error when an answer is not 200 */
export async function contest<Name extends string>(
  [first, second]: readonly [Name, Name],
  contenders: Readonly<Record<Name, Contender>>,
  { connections, rounds, until }: Rounds,
): Promise<Comparison<Name>> {
  const samples = { [first]: [], [second]: [] } as unknown as Record<Name, Sample[]>
  const warmth: Until = { seconds: 1, answers: until.answers ?? Number.POSITIVE_INFINITY }
  await take(contenders[first], connections, warmth)
  await take(contenders[second], connections, warmth)
  for (let round = 0; round < rounds; round++) {
    // Whoever goes first changes with every round, so that a drift of the machine favours nobody.
    for (const which of round % 2 ? [second, first] : [first, second])
      samples[which].push(await take(contenders[which], connections, until))
  }
  return {
    of: (which, figure) => median(samples[which].map((one) => one[figure])),
    ratio: (figure) =>
      median(
        samples[second].map(
          (one, round) => one[figure] / (samples[first][round]?.[figure] ?? Number.NaN),
        ),
      ),
  }
}

async function take(
  { pid, target }: Contender,
  connections: number,
  until: Until,
): Promise<Sample> {
  const before = cpuMicros(pid)
  const result = await load(target, connections, until)
  if (result.bad > 0) throw new Error(`${result.bad} answers were not 200`)
  return {
    ...result,
    rps: result.requests / result.seconds,
    cpuMicros: (cpuMicros(pid) - before) / result.requests,
  }
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
