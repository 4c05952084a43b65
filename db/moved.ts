/** A database whose content was moved elsewhere: it says where, and opens no more. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'

export interface Moved {
  /** An address without its password, or a directory. */
  readonly place: string
  readonly at: Instant
}

/** `hint`: how to use it where it is now. */
export const movedAway = ({ place, at }: Moved, version: number, hint: string): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `this database was moved to ${place} on ${renderInstant(at)}, and opens no more`,
    { hint, metadata: { moved_to: place, schema_version: version } },
  )
