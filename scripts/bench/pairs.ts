/**
 * Part `pairs`: a binary beside an earlier one. Two starts of one binary differ by some hundredths, so every pair starts
 * both anew; the spread over the pairs says what the median is worth.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contender, contest, median } from './compare.ts'
import { load } from './load.ts'
import { type Cell, cellsOf, type Grid, titleOf, untilOf } from './matrix/cells.ts'
import { type Measured, stayOn } from './process.ts'
import { bodyFor, furnish, GATEWAY, LOAD_CORE, startBinary, startMock } from './rig.ts'

export interface PairsEffort extends Grid {
  readonly pairs: number
  /** In turns, within a pair. */
  readonly rounds: number
  readonly seconds: number
  readonly before: string
}

/** How far a median may lie from 1. */
const TOLERANCE = 0.03
/** Of each binary, with the first kind of answer: until then a tenth of the CPU is the compiler's, and more where there is more code. */
const WARM_UP = { connections: 32, seconds: 8 }

type Side = 'now' | 'before'

/** Measures and prints CPU and rate, this binary / the earlier; false when CPU grew by more than the tolerance. */
export async function pairs(effort: PairsEffort): Promise<boolean> {
  stayOn(LOAD_CORE)
  const mock = await startMock()
  const cells = cellsOf(effort)
  const outcomes = cells.map(() => ({ cpu: [] as number[], rate: [] as number[] }))
  try {
    for (let n = 1; n <= effort.pairs; n++) {
      const pair = await openPair(mock, cells, effort.before)
      try {
        for (const [place, cell] of cells.entries()) {
          const figures = await contest(pair.asks(cell), {
            connections: cell.connections,
            rounds: effort.rounds,
            until: untilOf(cell, effort.seconds),
          })
          const cpu = figures.ratio('cpuMicros', 'now', 'before')
          const rate = figures.ratio('rps', 'now', 'before')
          outcomes[place]?.cpu.push(cpu)
          outcomes[place]?.rate.push(rate)
          const micros = `${figures.of('now', 'cpuMicros').toFixed(1)} beside ${figures.of('before', 'cpuMicros').toFixed(1)} µs`
          const others = Math.max(figures.of('now', 'foreign'), figures.of('before', 'foreign'))
          console.log(
            `${n}. ${titleOf(cell)}: CPU ${cpu.toFixed(3)} (${micros}), rate ${rate.toFixed(3)}, others ${others.toFixed(2)} of a core`,
          )
        }
      } finally {
        await pair.close()
      }
    }
  } finally {
    await mock.stop()
  }
  console.log(`\n${effort.pairs} pairs, medians (smallest to largest), now / before`)
  for (const [place, { cpu, rate }] of outcomes.entries()) {
    console.log(`${titleOf(cells[place] as Cell)}: CPU ${spread(cpu)}, rate ${spread(rate)}`)
  }
  return outcomes.every(({ cpu }) => median(cpu) <= 1 + TOLERANCE)
}

async function openPair(
  mock: Measured,
  cells: readonly Cell[],
  before: string,
): Promise<{ asks(cell: Cell): Readonly<Record<Side, Contender>>; close(): Promise<void> }> {
  const routes = [...new Set(cells.map(({ kind }) => kind.route))]
  const open = async (binary: string) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
    const key = furnish(dataDir, mock.origin, routes, binary)
    const gateway = await startBinary(binary, dataDir, '--auth-listen', 'off')
    const ask = ({ kind, promptKilobytes }: Cell): Contender => ({
      pid: gateway.pid,
      mock,
      target: {
        origin: gateway.origin,
        path: '/v1/chat/completions',
        keys: [key],
        body: bodyFor(kind.route, promptKilobytes * 1_000),
      },
    })
    for (const cell of cells.slice(0, 1)) {
      await load(ask(cell).target, WARM_UP.connections, { seconds: WARM_UP.seconds })
    }
    const close = async (): Promise<void> => {
      await gateway.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
    return { ask, close }
  }
  const [now, earlier] = [await open(GATEWAY), await open(before)]
  return {
    asks: (cell) => ({ now: now.ask(cell), before: earlier.ask(cell) }),
    close: async () => {
      await now.close()
      await earlier.close()
    },
  }
}

const spread = (ratios: readonly number[]): string =>
  `${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
