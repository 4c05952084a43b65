/** Ranges of ids, which ascend with time. */
import type { Instant } from '#domain/clock.ts'
import { generationsFrom } from '#domain/id.ts'

/** Ids from `from` on and below `below`. */
export interface Slice {
  readonly from: string
  readonly below: string
}

/** Sorts behind every id, of whatever noun. */
export const BEHIND_ALL = '~'

/** The lower of two upper bounds, where there is any. */
export function belowBoth(a: string | undefined, b: string | undefined): Partial<Slice> {
  if (a === undefined) return b === undefined ? {} : { below: b }
  return { below: b === undefined || a < b ? a : b }
}

/** What arrived in a time: ids tell when, so that their own index finds any. */
export const arrivedIn = ({
  since,
  until,
  before,
}: {
  readonly since?: Instant
  readonly until?: Instant
  readonly before?: string
}): Partial<Slice> => ({
  ...(since !== undefined && { from: generationsFrom(since) }),
  ...belowBoth(until === undefined ? undefined : generationsFrom(until), before),
})
