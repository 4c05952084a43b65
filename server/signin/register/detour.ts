/** Detours: a person's way from an interaction to a third party and back. One per interaction; a new one ends the old. */
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

/** Who came back, and is nobody's yet: waits for an address to be proved by a code. */
export interface PendingIdentity {
  readonly provider: string
  readonly subject: string
  readonly claimedName: string | null
  /** Proves nothing: it saves typing. */
  readonly claimedEmail: string | null
}

export interface Detours {
  begin(detour: Detour): Promise<void>
  /** True for exactly one caller, and only before it expires; the state opens nothing afterwards. */
  end(detour: Omit<Detour, 'expiresAt'>, at: Instant): Promise<boolean>
  /** Keeps who came back. False when the detour is not one that has ended, or its provider is gone. */
  keepIdentity(interaction: string, arrival: PendingIdentity): Promise<boolean>
  /** Who waits in this interaction. */
  pendingIdentity(interaction: string, at: Instant): Promise<PendingIdentity | undefined>
  drop(interaction: string): Promise<void>
  /** Forgets what expired before `before`. */
  sweep(before: Instant): Promise<void>
}
