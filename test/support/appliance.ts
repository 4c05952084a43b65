/** The compiled program serving a data directory, or several over one database, observed only from outside. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import type { VerbInput, VerbName, VerbRecord } from '#operator/verbs.ts'
import { BINARY } from '#scripts/compile.ts'
import type { GatewayStore } from '#signin/store.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import type { CliHarness } from './cli-harness.ts'
import { freePort } from './free-port.ts'
import { isOverNodes, NODES } from './one-process.ts'
import { openShared, queryShared } from './over-nodes.ts'

const START_MS = 15_000

export interface Appliance {
  readonly url: string
  readonly pid: number
  /** Everything it printed so far, on both streams. */
  said(): string
  /** Of several nodes: the one that requests go to from now on; null: to each in turn. */
  pin(nth: number | null): void
  /** One verb over the operator's socket, as the command line would send it; throws what it refused. */
  verb<Name extends VerbName>(name: Name, input: VerbInput<Name>): Promise<VerbRecord<Name>>
  /** The stock client; it retries nothing unless told. */
  client(key: string, options?: ConstructorParameters<typeof OpenAI>[0]): OpenAI
  chat(key: string, body: unknown, init?: RequestInit): Promise<Response>
  /** SIGTERM, and the exit code that follows. */
  stop(): Promise<number>
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
  readonly exited: Promise<number>
}

export interface StartOptions {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** With sign-in, at its usual port: otherwise it is off, unless the flags say where. */
  readonly signin?: boolean
  /** So many over the store that the command line names; one, unless the whole suite runs over nodes. */
  readonly nodes?: number
  /** What starts it, under narrower conditions than ours: `['prlimit', '--nofile=64']`. It must become the gateway. */
  readonly under?: readonly string[]
  /** How long it may take to listen: to install it first, say. */
  readonly withinMs?: number
}

/** Serves on a free port and waits for /readyz. Whoever starts it ends it. */
export async function startAppliance(
  cli: CliHarness,
  options: StartOptions = {},
): Promise<Appliance> {
  const { nodes = isOverNodes && cli.env['GATEWAY_STORE'] !== undefined ? NODES : 1 } = options
  if (nodes === 1) return toAppliance(cli, [await startServer(cli, options)])
  const signin = await shareSignin(options, nodes)
  const starting = signin.flags.map((flags, nth) => {
    const name = `n${nth + 1}`
    // Commands reach the first through the socket in its directory.
    const place = nth === 0 ? {} : { GATEWAY_DATA_DIR: join(cli.home, name) }
    const env = { ...options.env, GATEWAY_NODE: name, ...place }
    return startServer(cli, { ...options, flags, env, signin: true })
  })
  const servers = await Promise.all(starting)
  const balancer = await startBalancer(servers.map(({ url }) => Number(new URL(url).port)))
  return toAppliance(cli, servers, [balancer, ...signin.balancers])
}

const USUAL_SIGNIN = '127.0.0.1:4141'

/** The flags of each node: where one would serve sign-in, a balancer does, and they behind it. */
async function shareSignin(
  { flags = [], signin = false }: StartOptions,
  nodes: number,
): Promise<{
  readonly flags: readonly (readonly string[])[]
  readonly balancers: readonly Balancer[]
}> {
  const at = flags.indexOf('--auth-listen')
  const listen = at < 0 ? (signin ? USUAL_SIGNIN : 'off') : (flags[at + 1] ?? 'off')
  const all = Array.from({ length: nodes }, () => flags)
  if (listen === 'off')
    return { flags: all.map((own) => [...own, '--auth-listen', 'off']), balancers: [] }
  const ports = all.map(freePort)
  const balancer = await startBalancer(ports, Number(listen.split(':').at(-1)))
  const url = flags.includes('--auth-url') ? [] : ['--auth-url', balancer.url]
  const own = ports.map((port) => [...flags, ...url, '--auth-listen', `127.0.0.1:${port}`])
  return { flags: own, balancers: [balancer] }
}

interface Server {
  readonly url: string
  readonly pid: number
  readonly exited: Promise<number>
  said(): string
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number>
}

async function startServer(cli: CliHarness, options: StartOptions): Promise<Server> {
  const { flags = [], env = {}, cwd = cli.home, signin = false, under = [] } = options
  const { withinMs = START_MS } = options
  // Sign-in takes nearly as long to load as all the rest.
  const off = signin ? [] : ['--auth-listen', 'off']
  const serve = ['serve', '--listen', '127.0.0.1:0', ...off, ...flags]
  const child = Bun.spawn([...under, cli.binary, ...serve], {
    cwd,
    env: { ...cli.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let said = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const hear = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const piece of stream) {
      said += decoder.decode(piece, { stream: true })
      const url = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(said)?.[0]
      if (url && /listening/.test(said)) resolve(url)
    }
  }
  const heard = Promise.all([hear(child.stdout), hear(child.stderr)])
  void heard.then(() => reject(new Error(`it ended early:\n${said}`)), reject)
  const timer = setTimeout(() => reject(new Error(`it did not start:\n${said}`)), withinMs)
  const url = await promise
    .catch((cause) => {
      child.kill('SIGKILL')
      throw cause
    })
    .finally(() => clearTimeout(timer))
  await until(async () => (await fetch(`${url}/readyz`)).status === 200, 'it is ready')

  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    child.kill(signal)
    const code = await child.exited
    await heard
    return code
  }
  return { url, pid: child.pid, exited: child.exited, said: () => said, end }
}

function toAppliance(
  cli: CliHarness,
  servers: readonly Server[],
  balancers: readonly Balancer[] = [],
): Appliance {
  const [first] = servers
  if (first === undefined) throw new Error('nothing was started')
  const { url } = balancers[0] ?? first
  /** The code of whichever ends otherwise than it should, if one does. */
  const all = async (codes: readonly Promise<number>[]): Promise<number> => {
    const ended = await Promise.all(codes)
    return ended.find((code) => code !== 0) ?? 0
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    const code = await all(servers.map((server) => server.end(signal)))
    for (const balancer of balancers) balancer.close()
    return code
  }
  return {
    url,
    pid: first.pid,
    pin(nth) {
      for (const balancer of balancers) balancer.pin(nth)
    },
    said: () => servers.map((server) => server.said()).join(''),
    verb: (name, input) => askVerb(cli, name, input),
    client: (key, more = {}) =>
      new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, ...more }),
    chat: (key, body, init = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...init,
      }),
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    exited: all(servers.map(({ exited }) => exited)),
  }
}

async function askVerb<Name extends VerbName>(
  cli: CliHarness,
  name: Name,
  input: VerbInput<Name>,
): Promise<VerbRecord<Name>> {
  const response = await fetch(`http://gateway/verbs/${name}`, {
    unix: join(cli.dataDir, 'run', 'admin.sock'),
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${name} ${JSON.stringify(input)}: ${response.status} ${text}`)
  return JSON.parse(text) as VerbRecord<Name>
}

/** The files of data directories that were furnished before, by their dollars. */
const furnished = new Map<string, readonly (readonly [name: string, bytes: Buffer])[]>()

/** A data directory with an account, the demo provider, a rate of 90 and `dollars` of balance. */
export function furnishCli(cli: CliHarness, dollars = '1000'): CliHarness {
  const isShared = cli.env['GATEWAY_STORE'] !== undefined
  const files = isShared ? undefined : furnished.get(dollars)
  if (files !== undefined && !existsSync(cli.dataDir) && cli.binary === BINARY) {
    mkdirSync(cli.dataDir, { mode: 0o700 })
    for (const [name, bytes] of files)
      writeFileSync(join(cli.dataDir, name), bytes, { mode: 0o600 })
    return cli
  }
  // Another program's files are not those of this one.
  const isNew = !isShared && !existsSync(cli.dataDir) && cli.binary === BINARY
  for (const command of [
    ['init'],
    ['rates', 'set', 'USD/RUB', '90'],
    ['balance', 'top-up', dollars],
  ]) {
    const { code, err } = cli.run(command)
    if (code !== 0) throw new Error(`gatewayctl ${command.join(' ')} exited ${code}\n${err}`)
  }
  if (isNew) {
    const names = readdirSync(cli.dataDir, { withFileTypes: true }).filter((one) => one.isFile())
    furnished.set(
      dollars,
      names.map(({ name }) => [name, readFileSync(join(cli.dataDir, name))]),
    )
  }
  return cli
}

/** Its store, to be written to while nothing serves. */
export async function openStoreOf({ env, dataDir }: CliHarness): Promise<GatewayStore> {
  if (isOverNodes) return await openShared(env)
  const key = readFileSync(join(dataDir, 'master.key'), 'utf8')
  const masterKey = Buffer.from(key.trim(), 'base64')
  return await openStore({ dataDir, clock: systemClock, masterKey })
}

/** One line of the activity log, as the database keeps it. */
export interface ActivityRow {
  readonly generation_id: string
  readonly status: number
  readonly code: string | null
  readonly ended_by: string
  readonly stream: number
  readonly finish_reason: string | null
  readonly usage_source: string | null
  readonly output_tokens: number
  readonly cost_nanos: number
}

/** Reads the database beside whoever has it open; writes nothing. */
export function readDatabase<Row>(
  cli: CliHarness,
  sql: string,
  ...values: (string | number)[]
): Row[] {
  if (isOverNodes) return queryShared(cli.env, sql, values)
  const database = new Database(join(cli.dataDir, 'gateway.db'), { readonly: true, strict: true })
  try {
    return database.query<Row, (string | number)[]>(sql).all(...values)
  } finally {
    database.close()
  }
}

export const activityOf = (cli: CliHarness, generationId: string): ActivityRow | undefined =>
  readDatabase<ActivityRow>(cli, 'SELECT * FROM activity WHERE generation_id = ?', generationId)[0]

/** What was charged, as the ledger has it: amounts below zero. */
export const chargesIn = (cli: CliHarness): { generation_id: string; amount_nanos: number }[] =>
  readDatabase(cli, "SELECT generation_id, amount_nanos FROM ledger WHERE kind = 'charge'")

/** Nodes also keep the rows of those that others have ended. */
const OPEN_HOLDS = `SELECT count(*) AS n FROM holds${isOverNodes ? ' WHERE ended_at IS NULL' : ''}`

export const openHolds = (cli: CliHarness): number =>
  readDatabase<{ n: number }>(cli, OPEN_HOLDS)[0]?.n ?? -1

/** Waits for a condition; a throwing condition counts as false. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 10_000,
): Promise<void> {
  const startMs = performance.now()
  for (;;) {
    if (
      await Promise.resolve()
        .then(condition)
        .catch(() => false)
    )
      return
    const waitedMs = performance.now() - startMs
    if (waitedMs > withinMs) throw new Error(`waited ${withinMs} ms in vain until ${what}`)
    // What takes long is looked at less often: a look may start a program.
    await Bun.sleep(Math.min(250, Math.max(5, waitedMs / 20)))
  }
}

/** Dollars as text in nano-dollars, by arithmetic of the tests' own. */
export function nanos(usd: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd)
  if (!match) throw new Error(`not an amount: ${usd}`)
  const [, sign, whole = '', part = ''] = match
  const amount = BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'))
  return sign ? -amount : amount
}

/** Tokens times dollars per million tokens each, in nano-dollars: summed first, rounded once, half up. */
export function priced(
  ...lines: readonly (readonly [tokens: number, usdPerMillion: string])[]
): bigint {
  const sum = lines.reduce((total, [tokens, usd]) => total + BigInt(tokens) * nanos(usd), 0n)
  return (sum + 500_000n) / 1_000_000n
}
