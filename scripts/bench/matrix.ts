/** Part `matrix`: everybody who can pass an answer on, in turns, at every size of crowd, prompt and answer. */
import { contest } from './compare.ts'
import { type Cell, cellsOf, type Grid, untilOf } from './matrix/cells.ts'
import { printLimits } from './matrix/limits.ts'
import { openRivals, type Rival, type RivalName } from './matrix/rivals.ts'
import { type Outcome, printTable } from './matrix/table.ts'

export interface MatrixEffort extends Grid {
  readonly rounds: number
  readonly seconds: number
  /** Who takes part; everybody when it is empty. */
  readonly only: readonly string[]
  /** Where Portkey is installed, if it is to take part. */
  readonly portkeyDir: string | undefined
}

/** Measures and prints; false when a limit is broken. */
export async function matrix(effort: MatrixEffort): Promise<boolean> {
  const rivals = await openRivals(effort.portkeyDir)
  try {
    const { only } = effort
    const present = rivals.all.filter(({ name }) => only.length === 0 || only.includes(name))
    console.log(
      `${present.map(({ name }) => name).join(', ')}: ${effort.rounds} rounds of ${effort.seconds} s`,
    )
    console.log(
      'medians over the rounds; ratios are taken inside a round. * this core was waiting: the load was the limit',
    )
    const outcomes: Outcome[] = []
    for (const cell of cellsOf(effort)) {
      const outcome = await measure(present, cell, effort)
      printTable(outcome)
      outcomes.push(outcome)
    }
    console.log(`\n${rivals.doctor()}`)
    return printLimits(outcomes)
  } finally {
    await rivals.close()
  }
}

async function measure(
  rivals: readonly Rival[],
  cell: Cell,
  { rounds, seconds }: MatrixEffort,
): Promise<Outcome> {
  const { kind, connections, promptKilobytes } = cell
  const contenders = Object.fromEntries(
    rivals.map((rival) => [rival.name, rival.asks(kind.route, promptKilobytes * 1_000)]),
  ) as Record<RivalName, ReturnType<Rival['asks']>>
  const until = untilOf(cell, seconds)
  return {
    cell,
    names: rivals.map(({ name }) => name),
    figures: await contest(contenders, { connections, rounds, until }),
    bare: kind.chunks > 0 ? 'bare streaming' : 'bare buffered',
  }
}
