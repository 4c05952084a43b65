/** Sessions that have ended, of which applications are yet to be told (OpenID Connect Back-Channel Logout 1.0). */
import type { Instant } from '#domain/clock.ts'
import type { PersonId } from './person.ts'

/** One application that was open in a session, and is registered with an address to be told at. */
export interface WaitingLogout {
  readonly id: string
  readonly clientId: string
  readonly personId: PersonId
  /** The session, as the application knows it. */
  readonly sid: string
  /** The number of failed attempts. */
  readonly tries: number
  readonly endedAt: Instant
}

export interface ClaimBounds {
  readonly most: number
  readonly mostOfOne: number
  /** The applications that are being told now, by their ids; each as often as there are attempts. */
  readonly underWay: readonly string[]
}

/** They are added where sessions end, in the same transaction: by `Artifacts` and `People`. Expiry of a session is no end of it. */
export interface Logouts {
  /**
   * Leases those that are due, at most `most`, oldest due first, until `leaseUntil`; if the courier dies, they become due again.
   * Of one application at most `mostOfOne`, with those that are `underWay`: one that is slow to answer delays no other.
   */
  claim(at: Instant, leaseUntil: Instant, bounds: ClaimBounds): Promise<readonly WaitingLogout[]>
  /** Notes how many attempts have failed, and ends the lease. */
  reschedule(id: string, tries: number, nextTryAt: Instant): Promise<void>
  /** Removes one that was told or given up. */
  drop(id: string): Promise<void>
}
