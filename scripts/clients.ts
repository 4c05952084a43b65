/**
 * Real clients through the compiled gateway: each plays a turn with two parallel tool calls against a provider of every family,
 * played by a stand-in. Both tools must be called, both results arrive in order, the last word be shown, every answer be charged
 * at its price, and nothing be left open.
 *
 *     npm run build && npm run clients -- [--only claude-code,codex] [--upstream gemini] [--trace DIR] [--cache DIR]
 *
 * The clients are packages of npm and PyPI, installed once into a cache outside of the project (`~/.cache/gatewayctl-clients`).
 * `--only` takes beginnings of names, and alone brings Open WebUI, which is seven gigabytes; `--trace` keeps what each client said and asked. Exits 1 on any failure.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AGENTS } from './clients/agents.ts'
import { startGateway } from './clients/gateway.ts'
import { CACHE } from './clients/kits.ts'
import { runMatrix } from './clients/matrix.ts'
import { LIBRARIES } from './clients/programs.ts'
import { startStandIn, UPSTREAMS } from './clients/stand-in.ts'
import { BINARY } from './compile.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    upstream: { type: 'string' },
    trace: { type: 'string' },
    cache: { type: 'string', default: CACHE },
    binary: { type: 'string', default: BINARY },
  },
})

const beginnings = values.only?.split(',')
const clients = [...AGENTS, ...LIBRARIES].filter(({ name, isLarge }) =>
  beginnings ? beginnings.some((beginning) => name.startsWith(beginning)) : !isLarge,
)
const named = values.upstream?.split(',')
const upstreams = UPSTREAMS.filter((name) => named === undefined || named.includes(name))
if (clients.length === 0 || upstreams.length === 0)
  throw new Error('no client or no upstream is so called')

const standIn = startStandIn()
const gateway = await startGateway(values.binary, standIn)
let failed = 0
try {
  failed = await runMatrix(clients, upstreams, {
    gateway,
    standIn,
    cache: values.cache,
    keep(name, trace) {
      if (values.trace === undefined) return
      mkdirSync(values.trace, { recursive: true })
      writeFileSync(join(values.trace, `${name.replaceAll(/[^\w.-]+/g, '-')}.txt`), trace)
    },
  })
} finally {
  const left = await gateway.close()
  standIn.stop()
  if (left !== null) {
    console.log(left)
    failed++
  }
}
process.exitCode = failed === 0 ? 0 : 1
