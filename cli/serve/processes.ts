/** Serving by several processes: starts them, and is one of them. */
import { cpus } from 'node:os'
import { systemClock } from '#domain/clock.ts'
import type { TelemetryOptions } from '#server/observer.ts'
import type { Serve } from '#server/serving.ts'

/** Tells a process that it serves for another, whose socket it names. */
const KEEPER_VARIABLE = 'GATEWAYCTL_KEEPER'

/** More are of no use: the process that keeps the books is the limit. */
export const MAX_PROCESSES = 64

/** As many as there are cores. */
export const allCores = (): number => Math.min(MAX_PROCESSES, cpus().length)

export interface Shared {
  readonly count: number
  /** The command socket of this gateway; that of its processes lies beside it. Null where a demo has none. */
  readonly adminSocket: string | null
  readonly telemetry: TelemetryOptions
  logFault(cause: unknown): void
}

/** Null where one process is enough, which then needs no other. */
export async function openProcesses(shared: Shared): Promise<Serve | null> {
  const { count, adminSocket, telemetry, logFault } = shared
  if (count === 1 || adminSocket === null) return null
  const [{ serveByProcesses }, { openKeeper }] = await Promise.all([
    import('#server/processes.ts'),
    import('#db/front/keeper.ts'),
  ])
  return serveByProcesses({
    count,
    unix: `${adminSocket}.store`,
    traces: telemetry.traces,
    openKeeper,
    spawn,
    logFault,
  })
}

/** In a session of its own, so that Ctrl-C reaches the parent alone, which drains it. */
const spawn = (unix: string) =>
  Bun.spawn([process.execPath, ...(isCompiled() ? [] : [Bun.main]), 'serve'], {
    env: { ...process.env, [KEEPER_VARIABLE]: unix },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })

const isCompiled = (): boolean => Bun.main.startsWith('/$bunfs/')

/** Serves for the process that listens at `unix`, and ends with it. */
export async function runAsProcess(unix: string): Promise<void> {
  const [{ runProcess }, { openFront }, { startFetch }] = await Promise.all([
    import('#server/process.ts'),
    import('#db/front/front.ts'),
    import('./start-fetch.ts'),
  ])
  await startFetch()
  // biome-ignore lint/nursery/noProcessExit: connections of clients would keep it alive
  const end = (): never => process.exit()
  await runProcess({ clock: systemClock, open: (told) => openFront(unix, told) }, end)
}
