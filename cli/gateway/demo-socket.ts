/** The socket of a demo: how commands reach a gateway that has no data directory (docs/decisions.md). */
import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import type { Context } from '../context.ts'
import { os } from '../os.ts'
import { readSharedStore } from '../settings/shared-store.ts'
import { printNote } from '../terminal/output.ts'
import { isRefused } from './is-refused.ts'

/** The kernel limits the path of a Unix socket to 108 bytes, with its final NUL. */
export const MAX_SOCKET_PATH_BYTES = 107

const FILE_NAME = 'demo.sock'

/** Where a demo of this user may have its socket, best first: each in a directory that only the user may enter. */
function placesOf({ env }: Context): readonly string[] {
  const runtime = env['XDG_RUNTIME_DIR'] ?? ''
  return [
    ...(isAbsolute(runtime) ? [join(runtime, 'gatewayctl')] : []),
    join(os().tmpdir(), `gatewayctl-${ownUid()}`),
  ]
    .map((directory) => join(directory, FILE_NAME))
    .filter((path) => Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES)
}

const ownUid = (): number => process.getuid?.() ?? 0

/** Any user can create a directory of this name in the temporary directory, so only a private one is trusted. */
function isPrivate(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === ownUid() && (found.mode & 0o077) === 0
}

/** Whether no location was given and the default one has no gateway. */
export const hasNoGateway = (context: Context): boolean =>
  !context.isLocationGiven &&
  !existsSync(join(context.dataDir, DATABASE_FILE)) &&
  !existsSync(context.adminSocket) &&
  readSharedStore(context) === null

/** The context of this user's demo where no location was given and the default one has no gateway; else the same context. */
export function withDemo(context: Context): Context {
  if (context.isDemo || !hasNoGateway(context)) return context
  for (const path of placesOf(context)) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) continue
    if (isPrivate(dirname(path))) return { ...context, adminSocket: path, isDemo: true }
    printNote(
      context,
      `! ignored ${FILE_NAME} in ${dirname(path)}: the directory is not private to you`,
    )
  }
  return context
}

/** The command lines whose note is printed: a command may call several verbs. */
const noted = new WeakSet<Context['typed']>()

/** Notes once that a command has reached the demo: the operator may have meant another gateway. */
export function noteDemo(context: Context): void {
  if (!context.isDemo || noted.has(context.typed)) return
  noted.add(context.typed)
  printNote(context, '· this is the demo gateway: it runs in memory and saves nothing')
}

/** The socket path for a new demo; null with the reason where there is none. */
export async function chooseDemoSocket(
  context: Context,
): Promise<{ readonly path: string | null; readonly why: string }> {
  let why = 'there is no directory for its socket'
  for (const path of placesOf(context)) {
    const directory = dirname(path)
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch {
      why = `${directory} cannot be created`
      continue
    }
    if (!isPrivate(directory)) why = `${directory} is not private to you`
    else if (await isAnswered(path)) return { path: null, why: 'another demo is running' }
    else return { path, why: '' }
  }
  return { path: null, why }
}

/** A socket left by a killed demo does not answer, and is replaced. */
async function isAnswered(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  try {
    await fetch('http://gateway/', { unix: path, signal: AbortSignal.timeout(2_000) })
    return true
  } catch (cause) {
    return !isRefused(cause)
  }
}
