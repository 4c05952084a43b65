/** Streams of a running gateway: JSON lines over the admin socket, or of all nodes of a store that they share. */
import { GatewayError } from '#domain/errors.ts'
import { isServed } from '#domain/snapshot/watch.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import type { OperatorErrorBody } from '#operator/app.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { readSharedStore } from '../settings/shared-store.ts'
import { fileExists } from './access.ts'
import { toDamageError } from './damage.ts'
import { noteDemo, withDemo } from './demo-socket.ts'
import { isRefused } from './is-refused.ts'
import { openStoreOf, toOperatorDeps } from './open-operator.ts'
import { fromErrorBody, NO_TIMEOUT } from './operator.ts'
import { seeVersion } from './served-version.ts'
import { splitLines } from './split-lines.ts'

/**
 * The documents of one path, one per line, and null for an empty line: the first one says that nothing is missed from
 * then on, later ones are keep-alives. Ends when the gateway closes the stream; silence does not end it.
 * @throws GatewayError from the gateway, CommandError 4 where none runs, here or at any node
 */
export async function* readLines(
  context: Context,
  path: string,
  notRunning: CommandError,
): AsyncGenerator<unknown, void> {
  const target = withDemo(context)
  const { response, close } =
    (await askRunning(target, path)) ?? (await askStore(context, path, notRunning))
  try {
    noteDemo(target)
    seeVersion(target, response)
    if (!response.ok) throw fromErrorBody((await response.json()) as OperatorErrorBody)
    for await (const line of splitLines(response.body)) yield line === '' ? null : JSON.parse(line)
  } catch (cause) {
    if (cause instanceof GatewayError) throw toDamageError(cause, true)
    // A gateway that stops closes its socket in the middle of a line.
    if (systemCodeOf(cause) === '') throw cause
  } finally {
    await close()
  }
}

interface Asked {
  readonly response: Response
  close(): Promise<void>
}

/** Null where nothing listens. */
async function askRunning({ adminSocket }: Context, path: string): Promise<Asked | null> {
  if (!fileExists(adminSocket)) return null
  try {
    const response = await fetch(`http://gateway${path}`, { unix: adminSocket, ...NO_TIMEOUT })
    return { response, close: async () => {} }
  } catch (cause) {
    if (isRefused(cause)) return null
    throw cause
  }
}

/** On a machine that is no node: by the store that the nodes share. */
async function askStore(context: Context, path: string, notRunning: CommandError): Promise<Asked> {
  if (readSharedStore(context) === null) throw notRunning
  const { operatorApp } = await import('#operator/app.ts')
  const store = await openStoreOf(context, { create: false, upgrade: false, withMasterKey: false })
  const deps = await toOperatorDeps(context, store, null)
  const response = await operatorApp(deps, () => {}).request(path)
  if (response.ok && deps.watch && !isServed(deps.watch)) {
    await store.close()
    throw notRunning
  }
  return { response, close: () => store.close() }
}

/** The error where no gateway answers on the socket. */
export const noGateway = ({ dataDir }: Context, hint: string): CommandError =>
  new CommandError(
    'not_running',
    EXIT.notRunning,
    `no gateway is running on this data directory (${dataDir})`,
    hint,
  )
