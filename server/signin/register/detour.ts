/** Detours: logins in progress at a third party. One per interaction; a new one replaces the old. */
import type { Instant } from '#domain/clock.ts'

export interface Detour {
  /** SHA-256 of the interaction's id in hexadecimal. */
  readonly interaction: string
  /** The name of the identity provider. */
  readonly provider: string
  /** SHA-256 of the state in hexadecimal. */
  readonly state: string
  readonly expiresAt: Instant
}

/** An identity that is not linked to a person yet; it is linked once an address is verified by a code. */
export interface PendingIdentity {
  readonly provider: string
  readonly subject: string
  readonly claimedName: string | null
  /** Unverified; only prefills the form. */
  readonly claimedEmail: string | null
}

export interface Detours {
  begin(detour: Detour): Promise<void>
  /** Consumes the state; true for exactly one caller, before it expires. */
  end(detour: Omit<Detour, 'expiresAt'>, at: Instant): Promise<boolean>
  /** Stores the identity. False if the detour's state was not consumed, or its provider was removed. */
  keepIdentity(interaction: string, arrival: PendingIdentity): Promise<boolean>
  /** The pending identity of an interaction. */
  pendingIdentity(interaction: string, at: Instant): Promise<PendingIdentity | undefined>
  drop(interaction: string): Promise<void>
  /** Removes detours that expired before `before`, at most `limit`; returns how many. */
  sweep(before: Instant, limit: number): Promise<number>
}
