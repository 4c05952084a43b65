/**
 * The simulation: the gateway's own code in a world without real time, where a seed decides what is asked, what fails, and when.
 * Promises of docs/scale.md are judged at the end of each run.
 *
 *     npm run simulate -- [--seeds 10000] [--first 1]
 *     npm run simulate -- --seed 17        the same run again, told from its beginning
 *     npm run simulate -- --plant NAME     with a bug of scripts/simulate/plants.ts
 *     npm run simulate -- --compare        the model of PostgreSQL against the other engine, without faults
 *
 * Exits 1 where a promise was broken, with the seed that breaks it.
 */
import { parseArgs } from 'node:util'
import { plant } from './simulate/plants.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    plant: { type: 'string' },
    compare: { type: 'boolean', default: false },
  },
})
if (values.plant !== undefined) await plant(values.plant)
const { compareSeed, runSeed, warm } = await import('./simulate/run.ts')
await warm()

const run = values.compare ? compareSeed : runSeed
const isOne = values.seed !== undefined
const first = Number(values.seed ?? values.first)
const count = isOne ? 1 : Number(values.seeds)
const counts: Record<string, number> = {}
let failed = 0
let ran = 0
let steps = 0
const startedMs = process.cpuUsage().user
for (let seed = first; seed < first + count; seed++) {
  const outcome = run(seed)
  ran++
  steps += outcome.steps
  for (const [name, value] of Object.entries(outcome.counts)) {
    counts[name] = (counts[name] ?? 0) + value
  }
  if (isOne || (outcome.broken.length > 0 && failed === 0)) console.log(outcome.lines.join('\n'))
  if (outcome.broken.length > 0) {
    failed++
    console.log(`seed ${seed} breaks its promises; --seed ${seed} is the same run again`)
    for (const one of outcome.broken.slice(0, 10)) console.log(`  ${one}`)
    // A planted bug is looked for once.
    if (values.plant !== undefined) break
  }
  if (isOne) console.log(`digest ${outcome.digest}`)
}
const seconds = ((process.cpuUsage().user - startedMs) / 1e6).toFixed(1)
console.log(JSON.stringify(counts))
console.log(`${ran} seeds, ${steps} steps, ${seconds} s of CPU: ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
