/** What a part of the bench needs: a mock, the bare proxy and the gateway, each pinned, and a key without narrow limits. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadTarget } from './load.ts'
import { type Measured, start } from './process.ts'
import { TRUSTING } from './tls.ts'

export const GATEWAY = 'dist/gatewayctl'
const PROMPT_BYTES = 1_000
export const LOAD_CORE = 0
export const MEASURED_CORE = 1

/** Variables of the gateway, beside those of the bench. */
export type Environment = Record<string, string>

/** An answer of the mock's, as the gateway reaches it: a provider of that name with one model, `NAME/m`. */
export interface AnswerRoute {
  /** As `mock.ts` knows it. */
  readonly name: string
  /** The provider's `--type`. */
  readonly type: string
  readonly stream: boolean
  /** Whether the model draws, and the request asks for an image. */
  readonly draws?: boolean
  /** What the provider calls the model, where that says how it is asked. */
  readonly upstream?: string
  /** What its card says that it does, unless it answers. */
  readonly kind?: 'embed'
  /** Where the gateway is asked, and what, unless that is a chat. */
  readonly asks?: { readonly path: string; body(model: string): object }
}

export interface Effort {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
}

export interface Part {
  readonly answers: readonly AnswerRoute[]
  /** Measures and prints; false when what it measured breaks a limit. */
  run(rig: Rig, effort: Effort): Promise<boolean>
}

export interface Rig {
  readonly mock: Measured
  readonly bare: Measured
  readonly gateway: Measured
  /** The same answer, through the one and through the other. */
  target(which: 'bare' | 'gateway', route: AnswerRoute): LoadTarget
  close(): Promise<void>
}

/** Starts all three; the gateway knows a provider for every answer. Where it `isSecure`, the mock is asked by TLS. */
export async function openRig(answers: readonly AnswerRoute[], isSecure = false): Promise<Rig> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const mock = await startMock()
  const upstream = isSecure ? (await countsOf(mock)).secureOrigin : mock.origin
  const key = furnish(dataDir, upstream, answers)
  const bare = await startBare(upstream, 'buffered')
  const gateway = await startGateway(dataDir)
  const origins = { bare: bare.origin, gateway: gateway.origin }
  return {
    mock,
    bare,
    gateway,
    target: (which, route) => ({
      origin: origins[which],
      path: which === 'bare' ? pathOf(route) : (route.asks?.path ?? '/v1/chat/completions'),
      keys: [key],
      body: bodyFor(route),
    }),
    async close() {
      await Promise.all([gateway.stop(), bare.stop(), mock.stop()])
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

export const startMock = (core = LOAD_CORE): Promise<Measured> =>
  start([process.execPath, 'scripts/bench/mock.ts'], core)

/** What the mock counted since it was asked last, and its origin by TLS. */
export async function countsOf({ origin }: Measured) {
  const answer = await fetch(`${origin}/counts`)
  return (await answer.json()) as { connections: number; most: number; secureOrigin: string }
}

export const startBare = (
  upstream: string,
  mode: 'buffered' | 'streaming' | 'parsing',
): Promise<Measured> =>
  start([process.execPath, 'scripts/bench/bare.ts', upstream, mode], MEASURED_CORE, TRUSTING)

export const startGateway = (dataDir: string, ...flags: string[]): Promise<Measured> =>
  startBinary(GATEWAY, dataDir, ...flags)

/** A gateway that was built earlier, say. */
export const startBinary = (
  binary: string,
  dataDir: string,
  ...flags: string[]
): Promise<Measured> =>
  start([binary, 'serve', '--listen', '127.0.0.1:0', ...flags], MEASURED_CORE, {
    GATEWAY_DATA_DIR: dataDir,
    ...TRUSTING,
  })

/** The gateway's own word on its books. */
export const doctor = (dataDir: string): string =>
  gatewayctl(GATEWAY, dataDir, ['doctor']).split('\n').at(-1) ?? ''

/** The mock knows by it which answer is wanted. */
export const pathOf = ({ name, stream }: AnswerRoute): string =>
  `/${stream ? 'stream' : 'whole'}/${name}/v1`

function gatewayctl(
  binary: string,
  dataDir: string,
  args: readonly string[],
  input?: string,
  env: Environment = {},
): string {
  const run = Bun.spawnSync([binary, ...args], {
    env: { ...process.env, GATEWAY_DATA_DIR: dataDir, ...env },
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
  })
  if (run.exitCode !== 0) throw new Error(`gatewayctl ${args.join(' ')}: ${run.stderr}`)
  return run.stdout.toString().trim()
}

/** A data directory with money, a provider per answer, and a key with every limit set and out of reach. */
export function furnish(
  dataDir: string,
  mock: string,
  answers: readonly AnswerRoute[],
  binary = GATEWAY,
  env: Environment = {},
): string {
  const run = (command: string, ...args: string[]): string =>
    gatewayctl(binary, dataDir, [...command.split(' '), ...args], undefined, env)
  run('init --no-input')
  run('balance top-up 100000')
  for (const route of answers) {
    const { name, type, draws, kind, upstream = 'm' } = route
    const place = ['--type', type, '--base-url', mock + pathOf(route)]
    const add = ['providers', 'add', name, ...place, '--no-check']
    gatewayctl(binary, dataDir, add, 'sk-bench', env)
    const prices = ['--in-usd', '0.15', ...(kind ? ['--kind', kind] : ['--out-usd', '0.6'])]
    const drawing = draws ? ['--images', '--per-image-usd', '0.04'] : []
    run(`models add ${name}/m --provider ${name} --upstream ${upstream}`, ...prices, ...drawing)
  }
  return run('keys create bench --rpm 5000000 --rpd 9000000 --concurrency 10000 --daily-usd 90000')
}

export const bodyFor = (
  { name, stream, draws, asks }: AnswerRoute,
  promptBytes = PROMPT_BYTES,
): string =>
  JSON.stringify(
    asks?.body(`${name}/m`) ?? {
      model: `${name}/m`,
      temperature: 0.7,
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
      ...(draws && { modalities: ['image', 'text'] }),
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'Explain why a ledger balances. '.repeat(promptBytes / 31) },
      ],
    },
  )
