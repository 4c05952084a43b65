/** The gateway that is soaked: its store, its providers and models, and the command line as an operator types it. */
import { Database } from 'bun:sqlite'
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
  /** A directory for what nodes have of their own. */
  readonly home: string
  /** A directory for backups. */
  readonly backups: string
  readonly env: Readonly<Record<string, string>>
  readonly upstream: SoakUpstream
  /** What the books say, read beside whoever has the store open. */
  query<Row>(sql: string): Promise<readonly Row[]>
  /** How many requests are held for; nodes also keep the rows of those that they have ended. */
  openHolds(): Promise<number>
  /** One command to its end, beside everything else. */
  type(...args: readonly string[]): Promise<Ended>
  /** The same with `--json`. @throws Error when it fails */
  ask<T>(...args: readonly string[]): Promise<T>
  close(): void
}

/** A store that nodes share. */
export interface SharedStore extends Pick<SoakRig, 'query'> {
  /** Of whoever uses it. */
  readonly env: Readonly<Record<string, string>>
}

/** Furnished with money and one model for each wire, all at one price; without a shared store it has a data directory. */
export async function openSoakRig(binary: string, shared?: SharedStore): Promise<SoakRig> {
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
    ...shared?.env,
  }
  const query: SoakRig['query'] =
    shared?.query ?? (async (sql) => readDatabase(join(dataDir, 'gateway.db'), sql))
  const isOpen = shared ? 'ended_at IS NULL OR amount_nanos > 0' : 'true'
  const rig: SoakRig = {
    binary,
    home,
    backups,
    env,
    upstream,
    query,
    async openHolds() {
      const [row] = await query<{ n: number }>(`SELECT count(*) AS n FROM holds WHERE ${isOpen}`)
      return Number(row?.n ?? -1)
    },
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
  if (shared) await rig.ask('store', 'migrate')
  await furnish(rig)
  return rig
}

function readDatabase<Row>(file: string, sql: string): readonly Row[] {
  const database = new Database(file, { readonly: true, strict: true })
  try {
    return database.query<Row, []>(sql).all()
  } finally {
    database.close()
  }
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
