/** A database that is damaged waits for its operator, and not for a server: exit 1, not 4. */
import { GatewayError } from '#domain/errors.ts'
import { CommandError, EXIT } from '../exit.ts'

/** What was thrown while the store was opened or read here, with the exit code of what it is. */
export function tellDamage(thrown: unknown): unknown {
  if (!(thrown instanceof GatewayError) || !isDamage(thrown.details.cause)) return thrown
  const { code, message, details } = thrown
  return new CommandError(code, EXIT.failed, message, details.hint ?? null)
}

const isDamage = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && /^SQLITE_(CORRUPT|NOTADB)/.test(String(cause.code))
