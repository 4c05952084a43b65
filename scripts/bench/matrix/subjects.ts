/** The servers of the matrix, each a process of its own on the measured core. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contender } from '../compare.ts'
import type { LoadTarget } from '../load.ts'
import type { Measured } from '../process.ts'
import {
  type AnswerRoute,
  bodyFor,
  doctor,
  furnish,
  GATEWAY,
  MEASURED_CORE,
  pathOf,
  startBare,
  startBinary,
  startMock,
} from '../rig.ts'
import { FIRST_TOKEN } from '../wires.ts'
import { KINDS } from './cells.ts'
import { startNginx } from './nginx.ts'
import { startPortkey } from './portkey.ts'

export const SUBJECT_NAMES = [
  'direct',
  'nginx',
  'bare-buffered',
  'bare-streaming',
  'gateway',
  'gateway-synced',
  'gateway-before',
  'portkey',
] as const
export type SubjectName = (typeof SUBJECT_NAMES)[number]

export interface BenchSubject {
  readonly name: SubjectName
  asks(route: AnswerRoute, promptBytes: number): Contender
}

export interface BenchSubjects {
  readonly all: readonly BenchSubject[]
  /** What the gateway says of its books. */
  doctor(): string
  close(): Promise<void>
}

const CHAT_PATH = '/v1/chat/completions'

/** Where servers are that are not of this checkout; omitted, they do not take part. */
export interface Strangers {
  /** Where Portkey is installed. */
  readonly portkeyDir: string | undefined
  /** An earlier binary of the gateway. */
  readonly before: string | undefined
}

/** Starts every installed server. */
export async function openSubjects({ portkeyDir, before }: Strangers): Promise<BenchSubjects> {
  const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-'))
  const started: Measured[] = []
  const keep = async (starting: Promise<Measured>): Promise<Measured> => {
    const server = await starting
    started.push(server)
    return server
  }
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()))
    rmSync(scratch, { recursive: true, force: true })
  }
  try {
    const mock = await keep(startMock())
    const direct = await keep(startMock(MEASURED_CORE))
    const all = [
      // The mock in the measured place: what the load can draw from it is the end of the scale.
      passing('direct', direct, direct),
      ...(await nginx(mock)),
      passing('bare-buffered', await keep(startBare(mock.origin, 'buffered')), mock),
      passing('bare-streaming', await keep(startBare(mock.origin, 'streaming')), mock),
      await gateway('gateway', mock),
      await gateway('gateway-synced', mock, GATEWAY, '--sync-charges'),
      ...(before === undefined ? [] : [await gateway('gateway-before', mock, before)]),
      ...(await portkey(mock)),
    ]
    return { all, doctor: () => doctor(join(scratch, 'gateway')), close }
  } catch (error) {
    await close()
    throw error
  }

  async function gateway(
    name: SubjectName,
    mock: Measured,
    binary = GATEWAY,
    ...flags: string[]
  ): Promise<BenchSubject> {
    const dataDir = join(scratch, name)
    mkdirSync(dataDir, { mode: 0o700 })
    const key = furnish(
      dataDir,
      mock.origin,
      KINDS.map(({ route }) => route),
      binary,
    )
    const server = await keep(startBinary(binary, dataDir, ...flags))
    return subject(name, server, mock, () => ({ path: CHAT_PATH, keys: [key] }))
  }

  async function nginx(mock: Measured): Promise<readonly BenchSubject[]> {
    if (Bun.which('nginx') === null) return []
    return [passing('nginx', await keep(startNginx(scratch, mock)), mock)]
  }

  async function portkey(mock: Measured): Promise<readonly BenchSubject[]> {
    if (portkeyDir === undefined) return []
    const server = await keep(startPortkey(portkeyDir))
    const fields = (route: AnswerRoute): string =>
      `x-portkey-provider: openai\r\nx-portkey-custom-host: ${mock.origin}${pathOf(route)}\r\n`
    const ask: Ask = (route) => ({ path: CHAT_PATH, keys: ['sk-bench'], fields: fields(route) })
    return [subject('portkey', server, mock, ask, true)]
  }
}

type Ask = (route: AnswerRoute) => Pick<LoadTarget, 'path' | 'keys' | 'fields'>

/** Asked by the path on which the mock has the answer, which it passes on or answers itself. */
const passing = (name: SubjectName, server: Measured, mock: Measured): BenchSubject =>
  subject(name, server, mock, (route) => ({ path: pathOf(route), keys: ['sk-bench'] }))

const subject = (
  name: SubjectName,
  { pid, origin }: Measured,
  mock: Measured,
  ask: Ask,
  mayFail = false,
): BenchSubject => ({
  name,
  asks: (route, promptBytes) => ({
    pid,
    mock,
    mayFail,
    target: {
      ...ask(route),
      origin,
      body: bodyFor(route, promptBytes),
      ...(route.stream && { token: FIRST_TOKEN, ending: '[DONE]' }),
    },
  }),
})
