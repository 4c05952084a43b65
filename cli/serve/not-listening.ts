/** An address that is not to be had, as the operator's error. */
import { systemCodeOf } from '#domain/system-code.ts'
import { CommandError, EXIT } from '../exit.ts'

/** Anything else is returned as it is. */
export function notListening(
  cause: unknown,
  { hostname, port }: { readonly hostname: string; readonly port: number },
  hint: string,
): unknown {
  const code = systemCodeOf(cause)
  if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) return cause
  return new CommandError(
    'not_listening',
    EXIT.failed,
    `cannot listen on ${hostname}:${port}: ${code === 'EADDRINUSE' ? 'the address is in use' : code}`,
    hint,
  )
}
