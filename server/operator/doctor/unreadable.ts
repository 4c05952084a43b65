/** The finding about a credential or secret that cannot be decrypted. */
import { GatewayError } from '#domain/errors.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, problem } from './finding.ts'

/**
 * `replace` is the command that stores another secret. It is suggested only where a master key is at hand: a service may be given
 * its key from elsewhere, and a command that is typed while it is stopped has none.
 */
export async function unreadable(
  { store }: OperatorDeps,
  check: string,
  what: string,
  replace: string,
): Promise<Finding> {
  const { hasMasterKey } = await store.health({ checkIntegrity: false })
  return hasMasterKey
    ? problem(check, `${what} cannot be read with this master key`, replace)
    : problem(
        check,
        `${what} cannot be read, because there is no master key here`,
        'start the gateway if it is given the key, or name the key in GATEWAY_MASTER_KEY_FILE',
      )
}

/** A store that cannot be read says nothing about a secret in it. @throws store_unavailable */
export function rethrowTrouble(cause: unknown): void {
  if (cause instanceof GatewayError && cause.code === 'store_unavailable') throw cause
}
