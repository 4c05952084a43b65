/**
 * Part `postgres`: what a request costs where its store is PostgreSQL: of one node and of two, with and without a standby that every
 * commit waits for, beside the embedded store. Requests a second and CPU by way of the compiled gateway; how long a node waits for its
 * admission and its settlement by way of the same store, opened in the bench.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '#db/index.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { systemClock } from '#domain/clock.ts'
import type { Secret } from '#domain/secret.ts'
import type { GatewayStore } from '#signin/store.ts'
import { median } from './compare.ts'
import { accountOf } from './floor/accounting.ts'
import { type LoadTarget, load } from './load.ts'
import { startServer } from './postgres-server.ts'
import { cpuMicros, cpuMicrosWithChildren, type Measured, start } from './process.ts'
import {
  type AnswerRoute,
  bodyFor,
  type Effort,
  type Environment,
  furnish,
  GATEWAY,
  startMock,
} from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
/** The runtime optimises what has run often, and these answer few in a second. */
const WARM_UP = { connections: 64, seconds: 6 }
const ANSWER_TOKENS = 40

interface Subject {
  readonly name: string
  readonly nodes: readonly { readonly target: LoadTarget; readonly pid: number }[]
  /** Of the database, in microseconds. */
  cpu(): number
  /** A node of its own in the bench, and a key that it knows. */
  open(): Promise<{ readonly store: GatewayStore; readonly secret: Secret }>
  stop(): Promise<void>
}

interface PostgresEffort extends Pick<Effort, 'rounds' | 'seconds'> {
  readonly connections: readonly number[]
}

/** Measures and prints; there is no limit. */
export async function postgres(effort: PostgresEffort): Promise<boolean> {
  const { rounds, seconds } = effort
  const mock = await startMock()
  const subjects: Subject[] = []
  try {
    subjects.push(await openEmbedded(mock.origin))
    for (const hasStandby of [false, true]) {
      for (const count of [1, 2]) {
        subjects.push(await openNodes(mock.origin, count, hasStandby))
      }
    }
    for (const subject of subjects) await ask(subject, WARM_UP.connections, WARM_UP.seconds)
    for (const connections of effort.connections) {
      console.log(`whole answers, ${connections} connections in all`)
      const samples = new Map<Subject, Sample[]>(subjects.map((subject) => [subject, []]))
      for (let round = 0; round < rounds; round++) {
        for (const [subject, taken] of samples) {
          taken.push({
            ...(await ask(subject, connections, seconds)),
            ...(await wait(subject, connections, seconds)),
          })
        }
      }
      for (const [{ name }, taken] of samples) console.log(render(name, taken))
    }
    return true
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()))
    await mock.stop()
  }
}

interface Asked {
  readonly rate: number
  /** Microseconds a request. */
  readonly nodeCpu: number
  readonly databaseCpu: number
}

interface Waited {
  /** Microseconds. */
  readonly admit: readonly number[]
  readonly settle: readonly number[]
}

type Sample = Asked & Waited

/** By way of all its nodes at once. */
async function ask(subject: Subject, connections: number, seconds: number): Promise<Asked> {
  const { nodes } = subject
  const each = nodes.slice(0, connections)
  const readAll = () => [nodes.reduce((sum, { pid }) => sum + cpuMicros(pid), 0), subject.cpu()]
  const before = readAll()
  const results = await Promise.all(
    each.map(({ target }) => load(target, Math.ceil(connections / each.length), { seconds })),
  )
  const [nodeCpu = 0, databaseCpu = 0] = readAll().map((cpu, nth) => cpu - (before[nth] ?? 0))
  const requests = results.reduce((sum, result) => sum + result.requests, 0)
  const bad = results.reduce((sum, result) => sum + result.bad, 0)
  if (bad > 0) throw new Error(`${bad} answers of ${subject.name} were not 200 and whole`)
  const took = Math.max(...results.map((result) => result.seconds))
  return {
    rate: requests / took,
    nodeCpu: nodeCpu / requests,
    databaseCpu: databaseCpu / requests,
  }
}

/** By way of a node in the bench, which admits and settles as many at once. */
async function wait(subject: Subject, connections: number, seconds: number): Promise<Waited> {
  const { store, secret } = await subject.open()
  try {
    const key = await store.keys.findBySecret(secret, systemClock.now())
    if (key === undefined) throw new Error(`${subject.name} does not know the key`)
    const accounting = accountOf(store, key)
    const waited = { admit: [] as number[], settle: [] as number[] }
    const untilMs = performance.now() + seconds * 1_000
    const timed = async <T>(into: number[], act: () => Promise<T>): Promise<T> => {
      const since = performance.now()
      const result = await act()
      into.push((performance.now() - since) * 1_000)
      return result
    }
    const work = async (): Promise<void> => {
      while (performance.now() < untilMs) {
        const settle = await timed(waited.admit, accounting.admit)
        await timed(waited.settle, () => settle(ANSWER_TOKENS))
      }
    }
    await Promise.all(Array.from({ length: connections }, work))
    return waited
  } finally {
    await store.close()
  }
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

function render(name: string, samples: readonly Sample[]): string {
  const middle = (of: (sample: Sample) => number): number => median(samples.map(of))
  const waits = (of: (sample: Sample) => readonly number[]): string => {
    const sorted = samples.flatMap(of).toSorted((a, b) => a - b)
    return `${at(sorted, 0.5).toFixed(0)} / ${at(sorted, 0.99).toFixed(0)}`
  }
  return (
    `  ${name.padEnd(24)}${middle(({ rate }) => rate)
      .toFixed(0)
      .padStart(7)} req/s, CPU ${middle(({ nodeCpu }) => nodeCpu).toFixed(0)} µs of nodes and ` +
    `${middle(({ databaseCpu }) => databaseCpu).toFixed(0)} of the database; ` +
    `p50 / p99 of an admission ${waits(({ admit }) => admit)} µs, of a settlement ${waits((sample) => sample.settle)}`
  )
}

async function startNode(
  env: Environment,
  secret: string,
): Promise<Measured & { readonly target: LoadTarget }> {
  const flags = ['--listen', '127.0.0.1:0', '--auth-listen', 'off']
  const gateway = await start([GATEWAY, 'serve', ...flags], null, env)
  const { origin } = gateway
  const asked = { path: '/v1/chat/completions', keys: [secret], body: bodyFor(ROUTE) }
  return { ...gateway, target: { origin, ...asked } }
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
const remove = (directory: string): void => rmSync(directory, { recursive: true, force: true })

async function openEmbedded(mock: string): Promise<Subject> {
  // A directory has one process: the bench has another.
  const [dataDir, own] = [newDirectory(), newDirectory()]
  const node = await startNode({ GATEWAY_DATA_DIR: dataDir }, furnish(dataDir, mock, [ROUTE]))
  const secret = furnish(own, mock, [ROUTE]) as Secret
  return {
    name: 'embedded',
    nodes: [node],
    cpu: () => 0,
    open: async () => ({
      store: await openStore({ dataDir: own, clock: systemClock, serves: true }),
      secret,
    }),
    async stop() {
      await node.stop()
      remove(dataDir)
      remove(own)
    },
  }
}

async function openNodes(mock: string, count: number, hasStandby: boolean): Promise<Subject> {
  const server = await startServer(hasStandby)
  await migrate(server.address)
  const directories = Array.from({ length: count }, newDirectory)
  const shared: Environment = {
    GATEWAY_STORE: server.store,
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const secret = furnish(directories[0] ?? '', mock, [ROUTE], GATEWAY, shared)
  const nodes = await Promise.all(
    directories.map((dataDir, nth) =>
      startNode({ ...shared, GATEWAY_DATA_DIR: dataDir, GATEWAY_NODE: `node-${nth + 1}` }, secret),
    ),
  )
  return {
    name: `${count} at PostgreSQL${hasStandby ? ', standby' : ''}`,
    nodes,
    cpu: () => cpuMicrosWithChildren(server.pid),
    open: async () => ({
      store: await openPostgres({ address: server.address, clock: systemClock, node: 'bench' }),
      secret: secret as Secret,
    }),
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
      await server.stop()
      directories.forEach(remove)
    },
  }
}
