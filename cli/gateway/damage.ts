/** A damaged database needs its operator, not a server: exit 1, not 4. */
import { GatewayError } from '#domain/errors.ts'
import { CommandError, EXIT } from '../exit.ts'

/** Reported by a running gateway (`isServed`), or found while opening or reading the store here. */
export class DamageError extends CommandError {
  readonly isServed: boolean

  constructor({ code, message, details }: GatewayError, isServed: boolean) {
    super(code, EXIT.failed, message, details.hint ?? null)
    this.name = 'DamageError'
    this.isServed = isServed
  }
}

/** Turns a refusal because of damage into a DamageError; returns anything else unchanged. */
export const toDamageError = (thrown: unknown, isServed: boolean): unknown =>
  thrown instanceof GatewayError && thrown.details.trouble === 'damaged'
    ? new DamageError(thrown, isServed)
    : thrown
