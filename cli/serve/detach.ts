/** `serve --detach`: starts the server as a process of its own, and returns once that serves. */
import type { Context } from '../context.ts'
import { CommandError, EXIT, type ExitCode, endWith } from '../exit.ts'
import { callRunning } from '../gateway/operator.ts'
import { noGateway } from '../gateway/operator-lines.ts'
import { spawnSelf } from './processes.ts'

const LOOK_MS = 100

/** It writes where this process does. Where it ends instead, so does this one, in the same way. */
export async function detach(context: Context): Promise<void> {
  const args = process.argv.slice(2).filter((arg) => arg !== '--detach')
  const server = spawnSelf(args, ['ignore', 'inherit', 'inherit'])
  server.unref()
  const silent = { ...context, quiet: true }
  const none = noGateway(context, 'gatewayctl serve')
  while (server.exitCode === null && server.signalCode === null) {
    const status = await callRunning(silent, 'status', {}, none).catch(() => null)
    if (status?.pid === server.pid) return
    await Bun.sleep(LOOK_MS)
  }
  if (server.exitCode !== null) return endWith(server.exitCode as ExitCode)
  throw new CommandError('ended', EXIT.failed, `the server was ended by ${server.signalCode}`)
}
