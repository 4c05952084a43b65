/** Artifacts: the stored protocol state (sessions, interactions, grants, codes and tokens). */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { PersonId } from './person.ts'

export interface Artifact {
  /** The library's model name: `AuthorizationCode`, `Session`, … */
  readonly kind: string
  /** SHA-256 of the id in hexadecimal; the id itself is a credential and is not stored. */
  readonly digest: string
  /** JSON without the id. */
  readonly payload: string
  /** The grant that the artifact was issued under, and is revoked with. */
  readonly grantId: string | null
  /** A public identifier of the session or interaction; unlike the id, it is not a credential. */
  readonly uid: string | null
  readonly personId: PersonId | null
  readonly clientId: string | null
  readonly consumedAt: Instant | null
  readonly expiresAt: Instant
  /** How many revocations there were when the sign-in began that it belongs to. */
  readonly revocations: number
}

export interface Artifacts {
  /** Adds it under a new id. False if its person or client was revoked after there were `revocations`: it must not be issued. */
  add(artifact: Artifact): Promise<boolean>
  /** Updates all fields except `consumedAt` and `revocations`. False if it no longer exists, or for the same reason. */
  replace(artifact: Artifact): Promise<boolean>
  /** How many revocations there were, of anybody. What was read after this, and was not revoked since, is valid. */
  revocations(): Promise<number>
  /** Includes expired artifacts until they are swept. */
  find(kind: string, digest: string): Promise<Artifact | undefined>
  findByUid(kind: string, uid: string): Promise<Artifact | undefined>
  /** True for exactly one of several concurrent callers. */
  consume(kind: string, digest: string, at: Instant): Promise<boolean>
  /** Extends its expiry to at least `expiresAt`. Does nothing if it no longer exists. */
  extend(kind: string, digest: string, expiresAt: Instant): Promise<void>
  remove(kind: string, digest: string): Promise<void>
  /** Removes all artifacts of one kind that were issued under a grant. */
  revokeGrant(kind: string, grantId: string): Promise<void>
  /** Revokes a person: removes all sessions and tokens, and refuses what was begun before; returns how many sessions there were. */
  revokePerson(personId: PersonId, act: Act): Promise<number>
  /** How many sessions a person has. */
  countSessions(personId: PersonId, at: Instant): Promise<number>
  /** Removes what expired before `before`; returns how many. Used codes are kept until then, to detect replays. */
  sweep(before: Instant): Promise<number>
}
