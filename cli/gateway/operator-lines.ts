/** Streams of a running gateway: JSON lines over the admin socket. */
import { systemCodeOf } from '#domain/system-code.ts'
import type { OperatorErrorBody } from '#operator/app.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { fileExists } from './access.ts'
import { toDamageError } from './damage.ts'
import { noteDemo, withDemo } from './demo-socket.ts'
import { isRefused } from './is-refused.ts'
import { fromErrorBody, NO_TIMEOUT } from './operator.ts'
import { splitLines } from './split-lines.ts'

/**
 * The documents of one path, one per line, and null for an empty line: the first one says that nothing is missed from
 * then on, later ones are keep-alives. Ends when the gateway closes the stream; silence does not end it.
 * @throws GatewayError from the gateway, CommandError 4 where none runs
 */
export async function* readLines(
  context: Context,
  path: string,
  notRunning: CommandError,
): AsyncGenerator<unknown, void> {
  const target = withDemo(context)
  if (!fileExists(target.adminSocket)) throw notRunning
  let response: Response
  try {
    response = await fetch(`http://gateway${path}`, { unix: target.adminSocket, ...NO_TIMEOUT })
  } catch (cause) {
    if (isRefused(cause)) throw notRunning
    throw cause
  }
  noteDemo(target)
  if (!response.ok)
    throw toDamageError(fromErrorBody((await response.json()) as OperatorErrorBody), true)
  try {
    for await (const line of splitLines(response.body)) yield line === '' ? null : JSON.parse(line)
  } catch (cause) {
    // A gateway that stops closes its socket in the middle of a line.
    if (systemCodeOf(cause) === '') throw cause
  }
}

/** The error where no gateway answers on the socket. */
export const noGateway = ({ dataDir }: Context, hint: string): CommandError =>
  new CommandError(
    'not_running',
    EXIT.notRunning,
    `no gateway is running on this data directory (${dataDir})`,
    hint,
  )
