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

/** They are added where sessions end, in the same transaction: by `Artifacts` and `People`. Expiry of a session is no end of it. */
export interface Logouts {
  /** Leases those that are due, at most `limit`, oldest due first, until `leaseUntil`; if the courier dies, they become due again. */
  claim(at: Instant, leaseUntil: Instant, limit: number): Promise<readonly WaitingLogout[]>
  /** Notes how many attempts have failed, and ends the lease. */
  reschedule(id: string, tries: number, nextTryAt: Instant): Promise<void>
  /** Removes one that was told or given up. */
  drop(id: string): Promise<void>
}
