/**
 * Part `floor`: whole answers from the bare proxy, from three programs that do less than any gateway can, and from the gateway.
 * It says how much of the distance to the bare proxy is the runtime's and the store's, and how much everything else's.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contender, contest } from './compare.ts'
import { STEPS, type Step } from './floor/steps.ts'
import { type Measured, start } from './process.ts'
import {
  type AnswerRoute,
  bodyFor,
  furnish,
  MEASURED_CORE,
  type Part,
  pathOf,
  type Rig,
} from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }

const TITLES: Readonly<Record<'bare' | Step | 'gateway', string>> = {
  bare: 'Bun.serve and fetch, the bare proxy',
  client: 'Bun.serve and our HTTP client',
  json: 'the same, both texts parsed and written',
  accounting: 'the same, admitted and settled',
  gateway: 'the gateway',
}

export const floor: Part = {
  answers: [ROUTE],
  async run(rig, { rounds, seconds, connections }) {
    const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
    const servers: Measured[] = []
    const open = async (step: Step): Promise<Contender> => {
      const server = await startStep(rig, step, join(scratch, step))
      servers.push(server)
      return contender(rig, server)
    }
    try {
      const figures = await contest(
        {
          bare: contender(rig, rig.bare),
          client: await open('client'),
          json: await open('json'),
          accounting: await open('accounting'),
          gateway: { ...contender(rig, rig.gateway), target: rig.target('gateway', ROUTE) },
        },
        { rounds, connections, until: { seconds } },
      )
      console.log(`\nwhole answers, prompt of 1 KB, ${connections} connections`)
      for (const name of ['bare', ...STEPS, 'gateway'] as const) {
        console.log(
          `  ${TITLES[name].padEnd(42)}${figures.of(name, 'rps').toFixed(0).padStart(7)} req/s` +
            `${figures.of(name, 'cpuMicros').toFixed(0).padStart(5)} µs of CPU` +
            `${figures.ratio('rps', name, 'bare').toFixed(2).padStart(7)} of the bare proxy's req/s`,
        )
      }
      return true
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

function startStep({ mock }: Rig, step: Step, dataDir: string): Promise<Measured> {
  mkdirSync(dataDir, { mode: 0o700 })
  const secret = furnish(dataDir, mock.origin, [ROUTE])
  const url = `${mock.origin}${pathOf(ROUTE)}/chat/completions`
  return start(
    [process.execPath, 'scripts/bench/floor/server.ts', url, step, dataDir, secret],
    MEASURED_CORE,
  )
}

/** Asked by the path on which the mock has the answer, which the gateways of this part do not read. */
const contender = ({ mock }: Rig, { pid, origin }: Measured): Contender => ({
  pid,
  mock,
  target: { origin, path: pathOf(ROUTE), keys: ['sk-bench'], body: bodyFor(ROUTE) },
})
