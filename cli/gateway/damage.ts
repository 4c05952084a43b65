/** A database that is damaged waits for its operator, and not for a server: exit 1, not 4. */

import { GatewayError } from '#domain/errors.ts'
import { CommandError, EXIT } from '../exit.ts'

/** Told by a running gateway, or found while the store was opened or read here. */
export class DamageError extends CommandError {
  readonly isServed: boolean

  constructor({ code, message, details }: GatewayError, isServed: boolean) {
    super(code, EXIT.failed, message, details.hint ?? null)
    this.name = 'DamageError'
    this.isServed = isServed
  }
}

/** What was thrown, with the exit code of what it is. */
export const toDamageError = (thrown: unknown, isServed: boolean): unknown =>
  thrown instanceof GatewayError && thrown.details.trouble === 'damaged'
    ? new DamageError(thrown, isServed)
    : thrown
