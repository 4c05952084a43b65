/** What a provider served, by our books, as its bill would have it: by day, model and class, exact or in doubt. */
import type { Day, Instant } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import type { UsdAttos, UsdNanos } from '../money.ts'

/** Why nobody here knows what the provider counted, or whether it billed at all. */
export const DOUBTS = [
  /** The client left before the provider had counted. */
  'hung_up',
  /** The answer broke off, or was ended by the gateway. */
  'broke_off',
  /** The provider counted nothing. */
  'estimated',
  /** It was ended because it cost more than was held: the provider ignored its bound, and nobody knows how far. */
  'beyond_hold',
  /** An attempt without an answer: it was sent, and not refused. */
  'failed_attempt',
  /** The gateway ended it before there was an answer, or died. */
  'stopped',
  /** Images beyond those that were held. */
  'withheld',
] as const

export type DoubtReason = (typeof DOUBTS)[number]

export interface Sum {
  requests: number
  units: number
  amount: UsdAttos
}

/** One class of one model on one day: tokens, images, calls. */
export interface ServedCell {
  /** Counted by the provider itself, and begun and ended on this day. */
  readonly exact: Sum
  /** The same, but ended on a later day: the provider may count them there. */
  readonly edge: Sum
  /** By estimate. */
  readonly doubted: Partial<Record<DoubtReason, Sum>>
  /** Of one unit, of all that were served. */
  leastPrice: UsdAttos
  mostPrice: UsdAttos
}

/** Requests that may have cost anything between nothing and `most`. */
export interface Doubt {
  requests: number
  most: UsdNanos
  /** Those that may have cost most, first. */
  examples: readonly Example[]
}

export type Doubts = Partial<Record<DoubtReason, Doubt>>

export interface Example {
  readonly id: GenerationId
  readonly most: UsdNanos
}

export interface ServedDay {
  readonly day: Day
  /** Our id of it. */
  readonly model: string
  /** What keys were charged. */
  charged: UsdNanos
  /** By the name of a class on a receipt; a vendor's tool by its own. */
  readonly cells: Map<string, ServedCell>
  readonly doubts: Doubts
  /** Of these, the requests that may have called tools. */
  readonly toolDoubts: Doubts
  /** The requests in doubt that began on this day, each once, whatever the reasons and attempts. */
  readonly begun: {
    requests: number
    readonly byReason: Partial<Record<DoubtReason, number>>
    most: UsdNanos
  }
  /** What the provider stated as its cost beyond ours, for requests in `exact` and in `edge`. */
  readonly stated: { exact: Sum; edge: Sum }
}

export interface ServedQuery {
  readonly provider: string
  /** Admitted at this instant or later, and before that one. */
  readonly since: Instant
  readonly until: Instant
}

export const noSum = (): Sum => ({ requests: 0, units: 0, amount: 0n as UsdAttos })
