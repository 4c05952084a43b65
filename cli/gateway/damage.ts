/** A database that is damaged waits for its operator, and not for a server: exit 1, not 4. */

import { GatewayError } from '#domain/errors.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import { CommandError, EXIT } from '../exit.ts'

const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/

/** What was thrown while the store was opened or read here, with the exit code of what it is. */
export function tellDamage(thrown: unknown): unknown {
  if (!(thrown instanceof GatewayError) || !DAMAGE.test(systemCodeOf(thrown.details.cause)))
    return thrown
  const { code, message, details } = thrown
  return new CommandError(code, EXIT.failed, message, details.hint ?? null)
}
