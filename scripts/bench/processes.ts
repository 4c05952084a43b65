/**
 * Part `processes`: CPU per request of `serve --processes N`, of the process that keeps the books and those that serve together,
 * beside one process; and of as many bare proxies on one port. On a machine with few cores only the CPU means anything.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './compare.ts'
import { type LoadTarget, load } from './load.ts'
import { cpuMicros, freePort, start, withChildren } from './process.ts'
import {
  type AnswerRoute,
  bodyFor,
  type Effort,
  furnish,
  GATEWAY,
  pathOf,
  startMock,
} from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
const COUNTS = [1, 2, 3]
/** For each process: until then a third of its CPU is the compiler's. */
const WARM_UP_SECONDS = 10
/** Requests for each CPU-second, beside one process. */
const MIN_LINEAR = 0.85

interface Subject {
  readonly name: string
  readonly count: number
  readonly target: LoadTarget
  readonly pids: readonly number[]
  stop(): Promise<unknown>
}

/** Measures and prints; false where several processes do less for a CPU-second than the limit. `connections` are those of each process. */
export async function processes({ rounds, seconds, connections }: Effort): Promise<boolean> {
  const mock = await startMock()
  const subjects: Subject[] = []
  try {
    for (const count of COUNTS) {
      subjects.push(await openGateway(count, mock.origin), await openBare(count, mock.origin))
    }
    for (const { target, count } of subjects) {
      await load(target, connections * count, { seconds: WARM_UP_SECONDS * count })
    }
    const cpu = new Map<string, number[]>()
    const rate = new Map<string, number[]>()
    for (let round = 0; round < rounds; round++) {
      for (const { name, count, target, pids } of subjects) {
        const before = sumCpu(pids)
        const {
          requests,
          bad,
          seconds: took,
        } = await load(target, connections * count, { seconds })
        if (bad > 0) throw new Error(`${bad} answers of ${name} were not 200 and whole`)
        note(cpu, name, (sumCpu(pids) - before) / requests)
        note(rate, name, requests / took)
      }
    }
    const share = (name: string, count: number): number =>
      median(
        (cpu.get(nameOf(name, 1)) ?? []).map(
          (micros, round) => micros / (cpu.get(nameOf(name, count))?.[round] ?? Number.NaN),
        ),
      )
    console.log(`whole answers, prompt of 1 KB, ${connections} connections to each process`)
    for (const { name } of subjects) {
      const [kind = '', count = ''] = name.split(' ')
      console.log(
        `  ${name.padEnd(12)}${median(rate.get(name) ?? [])
          .toFixed(0)
          .padStart(7)} req/s` +
          `${median(cpu.get(name) ?? [])
            .toFixed(1)
            .padStart(7)} µs of CPU, ${share(kind, Number(count)).toFixed(2)} of linear`,
      )
    }
    return COUNTS.every((count) => share('gateway', count) >= MIN_LINEAR)
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()))
    await mock.stop()
  }
}

const nameOf = (kind: string, count: number): string => `${kind} ${count}`

const sumCpu = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)

function note(into: Map<string, number[]>, name: string, value: number): void {
  into.set(name, [...(into.get(name) ?? []), value])
}

async function openGateway(count: number, mock: string): Promise<Subject> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const key = furnish(dataDir, mock, [ROUTE])
  const flags = ['--listen', `127.0.0.1:${freePort()}`, '--auth-listen', 'off']
  const gateway = await start([GATEWAY, 'serve', ...flags, '--processes', String(count)], null, {
    GATEWAY_DATA_DIR: dataDir,
  })
  return {
    name: nameOf('gateway', count),
    count,
    target: {
      origin: gateway.origin,
      path: '/v1/chat/completions',
      keys: [key],
      body: bodyFor(ROUTE),
    },
    pids: withChildren(gateway.pid),
    async stop() {
      await gateway.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function openBare(count: number, mock: string): Promise<Subject> {
  const port = String(freePort())
  const command = [process.execPath, 'scripts/bench/bare.ts', mock, 'buffered', port]
  const proxies = await Promise.all(Array.from({ length: count }, () => start(command, null)))
  return {
    name: nameOf('bare', count),
    count,
    target: {
      origin: `http://127.0.0.1:${port}`,
      path: pathOf(ROUTE),
      keys: ['bench'],
      body: bodyFor(ROUTE),
    },
    pids: proxies.map(({ pid }) => pid),
    stop: () => Promise.all(proxies.map((proxy) => proxy.stop())),
  }
}
