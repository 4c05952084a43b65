/** Part `matrix`: every server that can proxy an answer, in turns, at every number of connections and size of prompt and answer. */
import { type Contender, contest } from './compare.ts'
import { load } from './load.ts'
import { type Cell, cellsOf, type Grid, untilOf } from './matrix/cells.ts'
import { printLimits } from './matrix/limits.ts'
import {
  type BenchSubject,
  openSubjects,
  type Strangers,
  type SubjectName,
} from './matrix/subjects.ts'
import { type Outcome, printTable } from './matrix/table.ts'

const TRIALS = 3
/** Of each server, per kind of answer. A runtime optimises what ran often: a server that has just started is slower. */
const WARM_UP = { connections: 32, seconds: 4 }

export interface MatrixEffort extends Grid, Strangers {
  readonly rounds: number
  readonly seconds: number
  /** Servers that take part; all when empty. */
  readonly only: readonly string[]
}

/** Measures and prints; false when a limit is broken. */
export async function matrix(effort: MatrixEffort): Promise<boolean> {
  const subjects = await openSubjects(effort)
  try {
    const { only } = effort
    const present = subjects.all.filter(({ name }) => only.length === 0 || only.includes(name))
    console.log(
      `${present.map(({ name }) => name).join(', ')}: ${effort.rounds} rounds of ${effort.seconds} s`,
    )
    console.log(
      'medians over the rounds; ratios are taken inside a round. * this core was waiting: the load was the limit',
    )
    const cells = cellsOf(effort)
    await warmUp(present, cells)
    const outcomes: Outcome[] = []
    for (const cell of cells) {
      const outcome = await measure(await ableTo(cell, present), cell, effort)
      printTable(outcome)
      outcomes.push(outcome)
    }
    console.log(`\n${subjects.doctor()}`)
    return printLimits(outcomes)
  } finally {
    await subjects.close()
  }
}

/** Before the first cell, so that the cells do not depend on their order. */
async function warmUp(subjects: readonly BenchSubject[], cells: readonly Cell[]): Promise<void> {
  const { connections, seconds } = WARM_UP
  const ofEachKind = new Map(cells.map((cell) => [cell.kind, cell]))
  for (const [kind, cell] of ofEachKind) {
    if (kind.name === 'held') continue
    for (const subject of subjects) await load(ask(subject, cell).target, connections, { seconds })
  }
}

/** A stranger whose answers of this kind are bad by themselves has no rate that means anything. */
async function ableTo(
  cell: Cell,
  subjects: readonly BenchSubject[],
): Promise<readonly BenchSubject[]> {
  const able: BenchSubject[] = []
  for (const subject of subjects) {
    const { target, mayFail } = ask(subject, cell)
    if (!mayFail || (await load(target, 1, { answers: TRIALS })).bad === 0) able.push(subject)
    else console.log(`\n${subject.name} is left out: its answers are not 200 and whole`)
  }
  return able
}

const ask = (subject: BenchSubject, { kind, promptKilobytes }: Cell): Contender =>
  subject.asks(kind.route, promptKilobytes * 1_000)

async function measure(
  subjects: readonly BenchSubject[],
  cell: Cell,
  { rounds, seconds }: MatrixEffort,
): Promise<Outcome> {
  const { connections } = cell
  const contenders = Object.fromEntries(
    subjects.map((subject) => [subject.name, ask(subject, cell)]),
  ) as Record<SubjectName, Contender>
  const until = untilOf(cell, seconds)
  return {
    cell,
    names: subjects.map(({ name }) => name),
    figures: await contest(contenders, { connections, rounds, until }),
    reference: referenceFor(cell, subjects),
  }
}

/** An earlier binary where one takes part, else the bare proxy that does the like. */
function referenceFor({ kind }: Cell, subjects: readonly BenchSubject[]): SubjectName {
  if (subjects.some(({ name }) => name === 'gateway-before')) return 'gateway-before'
  return kind.chunks > 0 ? 'bare-streaming' : 'bare-buffered'
}
