/**
 * Simulates the limits of one key on several nodes, before they are built: three policies, with and without failures, against
 * an observer who knows everything (docs/scale.md).
 *
 *     npm run simulate -- [--nodes 4] [--seed 1]
 */
import { parseArgs } from 'node:util'
import { askEveryTime } from './simulate/policies/ask-every-time.ts'
import { exchangeCounts } from './simulate/policies/exchange-counts.ts'
import { lendAhead } from './simulate/policies/lend-ahead.ts'
import type { Policy, Setting } from './simulate/policy.ts'
import { runScenario, type Scenario, type ScenarioResult } from './simulate/scenario.ts'

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '4' }, seed: { type: 'string', default: '1' } },
})
const options = { nodes: Number(values.nodes), seed: Number(values.seed) }

const POLICIES: readonly (readonly [string, (setting: Setting) => Policy])[] = [
  ['ask every time', askEveryTime],
  ['lend ahead, 1 s', (setting) => lendAhead(setting, 1_000)],
  ['exchange, 100 ms', (setting) => exchangeCounts(setting, 100)],
  ['exchange, 1 s', (setting) => exchangeCounts(setting, 1_000)],
]

const NO_CEILING = Number.MAX_SAFE_INTEGER
const windowed = {
  limits: { rpm: 6_000, ceilingMicros: NO_CEILING },
  requestsPerSecond: 300,
  seconds: 180,
  troubleAtSeconds: 70,
}
const capped = {
  limits: { rpm: 1_000_000, ceilingMicros: 50_000_000 },
  requestsPerSecond: 300,
  seconds: 60,
  troubleAtSeconds: 10,
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'rpm 6,000', ...windowed, trouble: 'none' },
  { name: 'rpm 6,000, failover', ...windowed, trouble: 'failover' },
  { name: 'rpm 6,000, a node lost', ...windowed, trouble: 'node-lost' },
  { name: 'ceiling $50', ...capped, trouble: 'none' },
  { name: 'ceiling $50, failover', ...capped, trouble: 'failover' },
  { name: 'ceiling $50, a node lost', ...capped, trouble: 'node-lost' },
]

console.log(
  `${options.nodes} nodes, seed ${options.seed}; a round trip to the shared store takes 0.2 to 0.8 ms\n`,
)
for (const scenario of SCENARIOS) {
  console.log(scenario.name)
  for (const [name, open] of POLICIES) print(name, runScenario(scenario, open, options))
  console.log()
}

function print(name: string, told: ScenarioResult): void {
  const { admitted, refused, unavailable, wronglyRefused, mostOverRpm, mostOverMicros } = told
  const wrong = refused === 0 ? 0 : (wronglyRefused / (admitted + refused)) * 100
  console.log(
    `  ${name.padEnd(18)}${String(admitted).padStart(7)} admitted  over by ${String(mostOverRpm).padStart(5)} requests, ` +
      `$${(mostOverMicros / 1e6).toFixed(2).padStart(5)}   wrongly refused ${wrong.toFixed(1).padStart(4)} %   ` +
      `unavailable ${String(unavailable).padStart(4)}   verdict p50 ${told.p50Ms.toFixed(2)} ms, p99 ${told.p99Ms.toFixed(2)} ms`,
  )
}
