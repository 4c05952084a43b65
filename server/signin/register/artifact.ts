/** Artifacts: what the protocol leaves behind between two requests: sessions, interactions, grants, codes and tokens. */
import type { Instant } from '#domain/clock.ts'
import type { PersonId } from './person.ts'

export interface Artifact {
  /** As the protocol's library calls it: `AuthorizationCode`, `Session`, … */
  readonly kind: string
  /** SHA-256 of the id in hexadecimal: the id itself is a credential, and is not kept. */
  readonly digest: string
  /** JSON without the id. */
  readonly payload: string
  /** What the artifact was issued under, and is revoked with. */
  readonly grantId: string | null
  /** How a session is named where its id must not be. */
  readonly uid: string | null
  readonly personId: PersonId | null
  readonly clientId: string | null
  readonly consumedAt: Instant | null
  readonly expiresAt: Instant
}

export interface Artifacts {
  /** Adds it, or replaces all but `consumedAt`. */
  put(artifact: Artifact): Promise<void>
  /** Also one that has expired, until it is swept. */
  find(kind: string, digest: string): Promise<Artifact | undefined>
  findByUid(kind: string, uid: string): Promise<Artifact | undefined>
  /** True for exactly one caller, however many ask at once. */
  consume(kind: string, digest: string, at: Instant): Promise<boolean>
  /** Keeps it until then at least. Nothing when it is gone: who ended it meant it. */
  extend(kind: string, digest: string, expiresAt: Instant): Promise<void>
  remove(kind: string, digest: string): Promise<void>
  /** Ends all of one kind that a grant stands behind. */
  revokeGrant(kind: string, grantId: string): Promise<void>
  /** Signs a person out everywhere, and ends every token; answers how many sessions there were. */
  revokePerson(personId: PersonId, at: Instant): Promise<number>
  /** How many sessions a person has. */
  countSessions(personId: PersonId, at: Instant): Promise<number>
  /** Forgets what expired before `before`; answers how many. A used code is kept that long, to know a replay. */
  sweep(before: Instant): Promise<number>
}
