/**
 * Part `floor`: whole answers from the bare proxy, from three programs that do less than any gateway can, and from the gateway.
 * It says how much of the distance to the bare proxy is the runtime's and the store's, and how much everything else's.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contender, contenderOf, contest } from './compare.ts'
import { STEPS, type Step } from './floor/steps.ts'
import { type Measured, start } from './process.ts'
import { type AnswerRoute, furnish, MEASURED_CORE, type Part, pathOf, type Rig } from './rig.ts'

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
    const bare = contenderOf(rig, 'bare', ROUTE)
    const open = async (step: Step): Promise<Contender> => {
      const server = await startStep(rig, step, join(scratch, step))
      servers.push(server)
      // Asked like the bare proxy, although it does not read the path.
      return { ...bare, pid: server.pid, target: { ...bare.target, origin: server.origin } }
    }
    try {
      const figures = await contest(
        {
          bare,
          client: await open('client'),
          json: await open('json'),
          accounting: await open('accounting'),
          gateway: contenderOf(rig, 'gateway', ROUTE),
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
  const url = `${mock.origin}${pathOf(ROUTE)}/chat/completions`
  const command = [process.execPath, 'scripts/bench/floor/server.ts', url, step]
  if (step === 'accounting') {
    mkdirSync(dataDir, { mode: 0o700 })
    command.push(dataDir, furnish(dataDir, mock.origin, [ROUTE]))
  }
  return start(command, MEASURED_CORE)
}
