/** Watch: the view that the operator's tools have of a running gateway, and the one action on a request. */
import { GatewayError } from '../errors.ts'
import type { GenerationId } from '../id.ts'
import type { NodeRecord } from '../node.ts'
import type { InFlight } from './in-flight.ts'
import type { Pulse } from './pulse.ts'

export interface Watch {
  readonly pulse: Pulse
  /** Requests in progress, oldest first, at most `most`. */
  inFlight(most: number): readonly InFlight[]
  /** How many they are. */
  count(): number
  /** The nodes that share the store; null where one process has it. */
  nodes(): readonly NodeRecord[] | null
  /** The highest number in progress at once since the start. */
  peak(): number
  draining(): boolean
  /**
   * Ends a request in progress as a drain does: what arrived is charged, and the client gets the reason. Resolves once it has
   * ended, or after some seconds if it has not; undefined if no request in progress has this id.
   */
  kill(id: GenerationId): Promise<Killed>
  /** Before anything above is read: brings up to date what other processes and nodes serve. */
  look(): Promise<void>
}

export type Killed = { readonly ended: boolean } | undefined

/** Whether any node lives; where one process has the store, it does. */
export const isServed = (watch: Watch): boolean =>
  watch.nodes()?.some(({ state }) => state === 'alive') ?? true

/** The error of a request that an operator ended; a client library should not retry it. */
export const endedByOperator = (): GatewayError =>
  new GatewayError('ended_by_operator', 'the operator of the gateway ended this request', {
    permanent: true,
  })
