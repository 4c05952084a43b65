/** Runs every client against every family, as many at once as there are cores, and prints a line for each client as it is done. */
import { availableParallelism } from 'node:os'
import { runCell, type Verdict } from './cell.ts'
import type { Client } from './client.ts'
import type { Gateway } from './gateway.ts'
import { install } from './kits.ts'
import type { StandIn, UpstreamName } from './stand-in.ts'

export interface Stage {
  readonly gateway: Gateway
  readonly standIn: StandIn
  readonly cache: string
  /** Gets what helps to find a fault. */
  keep(name: string, trace: string): void
}

const NAME_COLUMNS = 27
const CELL_COLUMNS = 12

/** How many failed: cells, and clients that could not be installed. */
export async function runMatrix(
  clients: readonly Client[],
  upstreams: readonly UpstreamName[],
  stage: Stage,
): Promise<number> {
  line('', upstreams)
  const faults: string[] = []
  let passed = 0
  for (const client of clients) {
    const kit = await install(client.kit, stage.cache).catch((failure: Error) => failure)
    if (kit instanceof Error) {
      line(client.name, ['not installed'])
      faults.push(`${client.name}: not installed: ${kit.message}`)
      continue
    }
    const verdicts = await side(upstreams, (upstream) =>
      runCell(client, upstream, { ...stage, kit }),
    )
    line(client.name, verdicts.map(brief))
    for (const [place, verdict] of verdicts.entries()) {
      const name = `${client.name} → ${upstreams[place]}`
      stage.keep(name, verdict.trace)
      if (verdict.faults.length === 0) passed++
      else faults.push(`${name}: ${verdict.faults.join('; ')}`)
    }
  }
  if (faults.length > 0) console.log(`\n${faults.join('\n')}`)
  console.log(`\n${passed} passed, ${faults.length} failed`)
  return faults.length
}

/** As many at once as there are cores, the answers in the order of the wishes. */
async function side<Wish, Answer>(
  wishes: readonly Wish[],
  run: (wish: Wish) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  const left = [...wishes.entries()]
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) answers[next[0]] = await run(next[1])
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return answers
}

const brief = ({ faults, tookMs }: Verdict): string =>
  faults.length === 0 ? `ok ${(tookMs / 1_000).toFixed(1)}s` : 'failed'

function line(name: string, cells: readonly string[]): void {
  const columns = cells.map((cell) => cell.padEnd(CELL_COLUMNS)).join('')
  console.log(`${name.padEnd(NAME_COLUMNS)}${columns}`.trimEnd())
}
