/**
 * The soak: the compiled gateway under a mixed load for hours, with failures of every kind. Upstreams of every
 * family cut, stall, refuse and talk nonsense; clients hang up; an operator makes, changes and ends keys; and the gateway itself
 * is killed and stopped again and again. At the end the books must hold every answered request exactly once.
 *
 *     npm run build && npm run soak -- [--minutes 30] [--seed N] [--clients 24] [--binary dist/gatewayctl]
 *     npm run build && npm run soak -- --kills 200 [--seed N]
 *     npm run build && npm run soak -- --upgrades 100
 *     npm run build && npm run soak -- --nodes 3 [--rounds 24] [--only silence] [--seed N]
 *
 * The seed decides what is asked, typed and killed, and in which order; how far a run comes in a minute is the machine's affair.
 * Exits 1 on any broken promise and on any error that nothing explains.
 */
import { parseArgs } from 'node:util'
import { BINARY } from './compile.ts'
import { openFindings } from './soak/findings.ts'
import { kills } from './soak/kills.ts'
import { nodes } from './soak/nodes.ts'
import { report } from './soak/report.ts'
import { openSoakRig } from './soak/rig.ts'
import { soak } from './soak/run.ts'
import { upgrades } from './soak/upgrades.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    kills: { type: 'string' },
    upgrades: { type: 'string' },
    nodes: { type: 'string' },
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    seed: { type: 'string' },
    clients: { type: 'string', default: '24' },
    binary: { type: 'string', default: BINARY },
  },
})
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint32Array(1))[0])
console.log(`seed ${seed}`)

const findings = openFindings()
const wishes = { seed, clients: Number(values.clients) }
if (values.nodes === undefined) {
  const rig = await openSoakRig(values.binary)
  try {
    if (values.upgrades !== undefined) {
      await upgrades(rig, findings, { upgrades: Number(values.upgrades) })
    } else if (values.kills === undefined) {
      await soak(rig, findings, { ...wishes, minutes: Number(values.minutes) })
    } else {
      await kills(rig, findings, { ...wishes, kills: Number(values.kills) })
    }
  } finally {
    rig.close()
  }
} else {
  const rounds = values.rounds === undefined ? null : Number(values.rounds)
  const { binary, only } = values
  await nodes(binary, findings, { ...wishes, nodes: Number(values.nodes), rounds, only })
}
process.exitCode = report(findings) ? 0 : 1
