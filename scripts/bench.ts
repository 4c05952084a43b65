/**
 * The bench: requests per second and CPU per request of the compiled gateway, with all its accounting, beside a bare
 * Bun.serve and fetch proxy, interleaved in one run. Only the ratio means anything; machines differ.
 *
 *     npm run build && npm run bench -- [--rounds 5] [--seconds 2] [--connections 32]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type LoadTarget, load } from './bench/load.ts'
import { cpuMicros, type Measured, residentMebibytes, start } from './bench/process.ts'

const GATEWAY = 'dist/gatewayctl'
const PROMPT_BYTES = 1_000
const LOAD_CORE = 0
const MEASURED_CORE = 1

const { values } = parseArgs({
  allowPositionals: false,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
  },
})
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
) as [number, number, number]

interface Sample {
  readonly rps: number
  readonly cpuMicros: number
  readonly p50Micros: number
  readonly p99Micros: number
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

function gatewayctl(dataDir: string, args: readonly string[], input?: string): string {
  const run = Bun.spawnSync([GATEWAY, ...args], {
    env: { ...process.env, GATEWAY_DATA_DIR: dataDir },
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
  })
  if (run.exitCode !== 0) throw new Error(`gatewayctl ${args.join(' ')}: ${run.stderr}`)
  return run.stdout.toString().trim()
}

/** A data directory with money, one provider per kind of answer, and a key with every limit set and out of reach. */
function furnish(dataDir: string, upstream: string): string {
  gatewayctl(dataDir, ['init', '--no-input'])
  gatewayctl(dataDir, ['balance', 'top-up', '100000'])
  for (const kind of ['whole', 'stream']) {
    const base = `${upstream}/${kind}/v1`
    gatewayctl(
      dataDir,
      ['providers', 'add', kind, '--type', 'openai-compatible', '--base-url', base],
      'sk-bench',
    )
    gatewayctl(dataDir, [
      'models',
      'add',
      `${kind}/m`,
      '--provider',
      kind,
      '--in-usd',
      '0.15',
      '--out-usd',
      '0.6',
    ])
  }
  const limits = [
    '--rpm',
    '5000000',
    '--rpd',
    '9000000',
    '--concurrency',
    '10000',
    '--daily-usd',
    '90000',
  ]
  return gatewayctl(dataDir, ['keys', 'create', 'bench', ...limits])
}

const bodyFor = (kind: string): string =>
  JSON.stringify({
    model: `${kind}/m`,
    temperature: 0.7,
    ...(kind === 'stream' && { stream: true, stream_options: { include_usage: true } }),
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Explain why a ledger balances. '.repeat(PROMPT_BYTES / 31) },
    ],
  })

async function sample(measured: Measured, target: LoadTarget): Promise<Sample> {
  const before = cpuMicros(measured.pid)
  const result = await load(target, connections, seconds)
  if (result.bad > 0) throw new Error(`${result.bad} answers were not 200`)
  return {
    rps: result.requests / result.seconds,
    cpuMicros: (cpuMicros(measured.pid) - before) / result.requests,
    p50Micros: result.p50Micros,
    p99Micros: result.p99Micros,
  }
}

function print(kind: string, bare: readonly Sample[], gateway: readonly Sample[]): void {
  const of = (samples: readonly Sample[], field: keyof Sample): number =>
    median(samples.map((one) => one[field]))
  const row = (name: string, samples: readonly Sample[]): string =>
    `${name.padEnd(9)}${of(samples, 'rps').toFixed(0).padStart(8)} req/s ` +
    `${of(samples, 'cpuMicros').toFixed(0).padStart(6)} µs CPU/req   ` +
    `p50 ${(of(samples, 'p50Micros') / 1000).toFixed(2)} ms   p99 ${(of(samples, 'p99Micros') / 1000).toFixed(2)} ms`
  const ratio = (field: keyof Sample): string =>
    median(gateway.map((one, round) => one[field] / (bare[round]?.[field] ?? Number.NaN))).toFixed(
      2,
    )
  console.log(`\n${kind}: ${connections} connections, ${rounds} rounds of ${seconds} s`)
  console.log(`  ${row('bare', bare)}`)
  console.log(`  ${row('gateway', gateway)}`)
  console.log(
    `  gateway / bare: requests per second ${ratio('rps')}, CPU per request ${ratio('cpuMicros')}`,
  )
}

async function bench(bare: Measured, gateway: Measured, key: string, kind: string): Promise<void> {
  const path = '/v1/chat/completions'
  const targets = [
    [bare, { origin: bare.origin, path: `/${kind}${path}`, key, body: bodyFor(kind) }],
    [gateway, { origin: gateway.origin, path, key, body: bodyFor(kind) }],
  ] as const
  const samples: [Sample[], Sample[]] = [[], []]
  for (const [, target] of targets) await load(target, connections, 1)
  for (let round = 0; round < rounds; round++) {
    // Whoever goes first changes with every round, so that a drift of the machine favours nobody.
    for (const which of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
      const [measured, target] = targets[which]
      samples[which].push(await sample(measured, target))
    }
  }
  print(kind, ...samples)
}

const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
const bun = process.execPath
const mock = await start([bun, 'scripts/bench/mock.ts'], LOAD_CORE)
const key = furnish(dataDir, mock.origin)
const bare = await start([bun, 'scripts/bench/bare.ts', mock.origin], MEASURED_CORE)
const gateway = await start([GATEWAY, 'serve', '--listen', '127.0.0.1:0'], MEASURED_CORE, {
  GATEWAY_DATA_DIR: dataDir,
})
try {
  console.log(
    `at rest: gateway ${residentMebibytes(gateway.pid).toFixed(0)} MiB, bare ${residentMebibytes(bare.pid).toFixed(0)} MiB`,
  )
  for (const kind of ['whole', 'stream']) await bench(bare, gateway, key, kind)
  console.log(
    `\nafter:   gateway ${residentMebibytes(gateway.pid).toFixed(0)} MiB, bare ${residentMebibytes(bare.pid).toFixed(0)} MiB`,
  )
  console.log(gatewayctl(dataDir, ['doctor']).split('\n').at(-1))
} finally {
  await Promise.all([gateway.stop(), bare.stop(), mock.stop()])
  rmSync(dataDir, { recursive: true, force: true })
}
