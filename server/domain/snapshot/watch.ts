/** Watch: what a running gateway lets be seen from outside, and the one thing that may be done to a request from there. */
import { GatewayError } from '../errors.ts'
import type { GenerationId } from '../id.ts'
import type { InFlight } from './in-flight.ts'
import type { Pulse } from './pulse.ts'

export interface Watch {
  readonly pulse: Pulse
  /** Admitted and not yet ended, oldest first, at most `most`. */
  inFlight(most: number): readonly InFlight[]
  /** The most that were in progress at once since the start. */
  peak(): number
  draining(): boolean
  /**
   * Ends a running request as a drain does: what came is charged, its reader is told why. Resolves once it has ended, or
   * when it has not within some seconds; undefined where no request in progress has this id.
   */
  kill(id: GenerationId): Promise<{ readonly ended: boolean } | undefined>
}

/** Why a request ended that an operator ended; a client library should not send it again. */
export const endedByOperator = (): GatewayError =>
  new GatewayError('ended_by_operator', 'the operator of the gateway ended this request', {
    permanent: true,
  })
