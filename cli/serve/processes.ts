/** Serving by several processes: starts them, and is one of them. */
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { systemClock } from '#domain/clock.ts'
import type { Crew } from '#server/crew.ts'

/** Tells a process that it serves for another, whose socket it names. */
const KEEPER_VARIABLE = 'GATEWAYCTL_KEEPER'

/** More are of no use: the process that keeps the books is the limit. */
export const MAX_PROCESSES = 64

/** As many as there are cores. */
export const allCores = (): number => Math.min(MAX_PROCESSES, cpus().length)

/** Where processes find the one that keeps the store: that which takes over from another listens at the other place. */
export const storePlaces = (adminSocket: string): readonly [string, string] => [
  `${adminSocket}.store`,
  `${adminSocket}.next`,
]

/** Starts so many, which wait until the store is lent to them. `unix` is one of the places. */
export async function startCrew(
  count: number,
  adminSocket: string,
  unix: string,
  logFault: (cause: unknown) => void,
): Promise<Crew> {
  const [{ Crew }, { openKeeper }] = await Promise.all([
    import('#server/crew.ts'),
    import('#db/front/keeper.ts'),
  ])
  const [one, other] = storePlaces(adminSocket)
  const otherUnix = unix === one ? other : one
  return new Crew({ count, clock: systemClock, unix, otherUnix, openKeeper, spawn, logFault })
}

const spawn = (unix: string) =>
  spawnSelf(['serve'], ['ignore', 'ignore', 'inherit'], { [KEEPER_VARIABLE]: unix })

type Stream = 'ignore' | 'inherit'

/** This program with other arguments, in a session of its own: Ctrl-C does not reach it. */
export const spawnSelf = (
  args: readonly string[],
  stdio: [Stream, Stream, Stream],
  env: Readonly<Record<string, string>> = {},
) =>
  Bun.spawn(toCommand(args), {
    env: { ...process.env, ...env },
    stdio,
    detached: true,
    argv0: process.argv0,
  })

/** What runs here, also after another release was put in its place. Only Linux has it. */
const OWN_PROGRAM = '/proc/self/exe'

function toCommand(args: readonly string[]): string[] {
  const isCompiled = Bun.main.startsWith('/$bunfs/')
  if (!isCompiled) return [process.execPath, Bun.main, ...args]
  return [existsSync(OWN_PROGRAM) ? OWN_PROGRAM : process.execPath, ...args]
}

/** Serves for the process that listens at `unix`, and ends with it. */
export async function runAsProcess(unix: string): Promise<void> {
  const [{ runProcess }, { openFront }, { startRuntime }] = await Promise.all([
    import('#server/process.ts'),
    import('#db/front/front.ts'),
    import('./start-runtime.ts'),
  ])
  await startRuntime()
  // biome-ignore lint/nursery/noProcessExit: connections of clients would keep it alive
  const end = (): never => process.exit()
  await runProcess({ clock: systemClock, open: (told) => openFront(unix, told) }, end)
}
