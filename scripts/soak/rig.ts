/** The gateway that is soaked: a data directory, its providers and models, and the command line as an operator types it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SoakUpstream, startUpstream } from './upstream.ts'
import { WIRES } from './wires.ts'

/** Dollars per million input and output tokens, of every model. */
export const IN_USD = 1
export const OUT_USD = 2

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface SoakRig {
  readonly binary: string
  readonly dataDir: string
  /** A directory for backups. */
  readonly backups: string
  readonly env: Readonly<Record<string, string>>
  readonly upstream: SoakUpstream
  /** One command to its end, beside everything else. */
  type(...args: readonly string[]): Promise<Ended>
  /** The same with `--json`. @throws Error when it fails */
  ask<T>(...args: readonly string[]): Promise<T>
  close(): void
}

/** Furnished with money and one model for each wire, all at one price. */
export async function openSoakRig(binary: string): Promise<SoakRig> {
  const home = mkdtempSync(join(tmpdir(), 'gatewayctl-soak-'))
  const dataDir = join(home, 'data')
  const backups = join(home, 'backups')
  mkdirSync(backups, { mode: 0o700 })
  const upstream = startUpstream()
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    GATEWAY_DATA_DIR: dataDir,
  }
  const rig: SoakRig = {
    binary,
    dataDir,
    backups,
    env,
    upstream,
    type: (...args) => run([binary, ...args], env),
    async ask(...args) {
      const { code, out, err } = await rig.type(...args, '--json')
      if (code !== 0) throw new Error(`gatewayctl ${args.join(' ')} exited ${code}: ${err}`)
      return JSON.parse(out)
    },
    close() {
      upstream.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
  await furnish(rig)
  return rig
}

async function furnish({ ask, env, binary, upstream }: SoakRig): Promise<void> {
  await ask('init', '--no-input')
  await ask('balance', 'top-up', '100000')
  for (const [name, { type }] of Object.entries(WIRES)) {
    const add = [
      'providers',
      'add',
      name,
      '--type',
      type,
      '--base-url',
      `${upstream.origin}/${name}`,
    ]
    const { code, err } = await run([binary, ...add], env, 'sk-soak')
    if (code !== 0) throw new Error(`gatewayctl ${add.join(' ')} exited ${code}: ${err}`)
    const prices = ['--in-usd', String(IN_USD), '--out-usd', String(OUT_USD)]
    const draws =
      name === 'images' ? ['--images', '--upstream', 'gpt-image-1'] : ['--upstream', 'm']
    await ask('models', 'add', `${name}/m`, ...draws, ...prices)
  }
}

async function run(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  input?: string,
): Promise<Ended> {
  const child = Bun.spawn([...command], {
    env,
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [code, out, err] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  return { code, out, err }
}
