/** Measures servers with the same answers in turns, and takes ratios within a round. */
import { type LoadResult, type LoadTarget, load, type Until } from './load.ts'
import { cpuMicros, type Measured, machineMicros, residentMebibytes } from './process.ts'
import { type AnswerRoute, countsOf, type Rig } from './rig.ts'

/** Fraction of a core that other processes may use. */
const MAX_FOREIGN = 0.15
const MAX_TRIES = 3

/** Whose CPU is measured, and what it is asked. */
export interface Contender {
  readonly pid: number
  readonly target: LoadTarget
  /** Where its answers come from. */
  readonly mock: Measured
  /** Whether its bad answers are counted and no more: a stranger's. */
  readonly mayFail?: boolean
  /** What goes on beside it while it is measured; answers with what ends that. */
  beside?(): () => Promise<void>
}

export interface Sample extends LoadResult {
  readonly rps: number
  /** Of one answer. */
  readonly cpuMicros: number
  /** Of its core, how much it used. */
  readonly busy: number
  /** How much of a core others used meanwhile. */
  readonly foreign: number
  readonly residentMebibytes: number
  /** Connections that it opened to the mock, for each request. */
  readonly newConnections: number
  /** Answers that were under way at once, at the mock. */
  readonly held: number
}

/** Its numbers by name. */
export type Figure = keyof Sample

export interface Comparison<Name extends string> {
  /** The median over the rounds. */
  of(which: Name, figure: Figure): number
  /** One / the other: the median of the rounds' ratios. */
  ratio(figure: Figure, which: Name, beside: Name): number
  /** One - the other, likewise. */
  difference(figure: Figure, which: Name, beside: Name): number
}

export interface Rounds {
  readonly connections: number
  readonly rounds: number
  readonly until: Until
}

/** The same answer from the bare proxy and from the gateway. @throws Error when an answer is not 200 */
export async function compare(
  rig: Rig,
  route: AnswerRoute,
  rounds: Rounds,
): Promise<Comparison<'bare' | 'gateway'>> {
  const contenders = {
    bare: contenderOf(rig, 'bare', route),
    gateway: contenderOf(rig, 'gateway', route),
  }
  return contest(contenders, rounds)
}

export const contenderOf = (
  rig: Rig,
  which: 'bare' | 'gateway',
  route: AnswerRoute,
): Contender => ({ pid: rig[which].pid, target: rig.target(which, route), mock: rig.mock })

/** Warms all of them up first. @throws Error when an answer is not 200 */
export async function contest<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  { connections, rounds, until }: Rounds,
): Promise<Comparison<Name>> {
  const names = Object.keys(contenders) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    Sample[]
  >
  const warmth: Until = { ...until, seconds: 1 }
  for (const name of names) await take(contenders[name], connections, warmth)
  for (let round = 0; round < rounds; round++) {
    // The order changes with every round, so that drift of the machine favours no server.
    for (const turn of names.keys()) {
      const name = names[(turn + round) % names.length] as Name
      samples[name].push(await takeUndisturbed(contenders[name], connections, until))
    }
  }
  return comparisonOf(samples)
}

/** Medians over the rounds; NaN for a server that did not take part. */
function comparisonOf<Name extends string>(
  samples: Readonly<Partial<Record<Name, readonly Sample[]>>>,
): Comparison<Name> {
  const inRounds =
    (join: (one: number, other: number) => number): Comparison<Name>['ratio'] =>
    (figure, which, beside) =>
      median(
        (samples[which] ?? []).map((one, round) =>
          join(one[figure], samples[beside]?.[round]?.[figure] ?? Number.NaN),
        ),
      )
  return {
    of: (which, figure) => median((samples[which] ?? []).map((one) => one[figure])),
    ratio: inRounds((one, other) => one / other),
    difference: inRounds((one, other) => one - other),
  }
}

/** Repeats while other processes use the machine, and takes the calmest run. @throws Error when an answer is not 200 */
async function takeUndisturbed(
  contender: Contender,
  connections: number,
  until: Until,
): Promise<Sample> {
  let best = await take(contender, connections, until)
  for (let n = 1; n < MAX_TRIES && best.foreign > MAX_FOREIGN; n++) {
    const next = await take(contender, connections, until)
    if (next.foreign < best.foreign) best = next
  }
  return best
}

async function take(
  { pid, target, mock, mayFail = false, beside }: Contender,
  connections: number,
  until: Until,
): Promise<Sample> {
  const ours = new Set([pid, mock.pid, process.pid])
  const ownMicros = (): number => [...ours].reduce((sum, one) => sum + cpuMicros(one), 0)
  await countsOf(mock)
  const before = { its: cpuMicros(pid), own: ownMicros(), machine: machineMicros() }
  const end = beside?.()
  const result = await load(target, connections, until)
  await end?.()
  const its = cpuMicros(pid) - before.its
  const foreign = machineMicros() - before.machine - (ownMicros() - before.own)
  if (result.bad > 0 && !mayFail) throw new Error(`${result.bad} answers were not 200 and whole`)
  const { connections: opened, most } = await countsOf(mock)
  return {
    ...result,
    rps: result.requests / result.seconds,
    cpuMicros: its / result.requests,
    busy: its / 1e6 / result.seconds,
    foreign: Math.max(0, foreign / 1e6 / result.seconds),
    residentMebibytes: residentMebibytes(pid),
    newConnections: opened / result.requests,
    held: most,
  }
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
