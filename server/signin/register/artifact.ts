/** Artifacts: the stored protocol state (sessions, interactions, grants, codes and tokens). */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { PersonId } from './person.ts'
import type { SigninEvent } from './signin-event.ts'

/** How much is kept of what a browser says that it is. */
export const MAX_AGENT_CHARS = 200

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
}

export interface StoredArtifact extends Artifact {
  /** How many revocations there were when the sign-in began that it belongs to. */
  readonly revocations: number
  /** How often it was written, from 1. */
  readonly version: number
}

/** What one artifact becomes. */
export interface ArtifactChange extends Pick<Artifact, 'kind' | 'digest'> {
  /** The version that was read; 0 adds it under a new id. */
  readonly version: number
  /** Null removes it. */
  readonly after: Artifact | null
}

/** Everything that one request changes. */
export interface ArtifactWrite {
  readonly changes: readonly ArtifactChange[]
  /** All artifacts of a kind that were issued under a grant are removed. */
  readonly revokedGrants: readonly { readonly kind: string; readonly grantId: string }[]
  /** How many revocations there were when the sign-in began that the request belongs to; what is added keeps it. */
  readonly revocations: number
  /** What the request did, for the log of signing in. */
  readonly events: readonly SigninEvent[]
}

export interface Artifacts {
  /** How many revocations there were, of anybody. What was read after this, and was not revoked since, is valid. */
  revocations(): Promise<number>
  /** Includes expired artifacts until they are swept. */
  find(kind: string, digest: string): Promise<StoredArtifact | undefined>
  findByUid(kind: string, uid: string): Promise<StoredArtifact | undefined>
  /**
   * Writes all of it, or nothing and answers false: if an artifact is not at the version that was read, or a person or client of
   * one that is kept was revoked since `revocations`. So a code is consumed once, no session loses what another request added to
   * it, and nothing that has ended is brought back.
   */
  write(write: ArtifactWrite): Promise<boolean>
  /** Revokes a person: removes all sessions and tokens, and refuses what was begun before; returns how many sessions there were. */
  revokePerson(personId: PersonId, act: Act): Promise<number>
  /** Removes these whatever another request makes of them. `noted`: that of who signs out, or the act of somebody else. Durable before it resolves. */
  end(ended: readonly Pick<Artifact, 'kind' | 'digest'>[], noted: SigninEvent | Act): Promise<void>
  /** A person's artifacts of one kind that have not expired, latest first. */
  ofPerson(kind: string, personId: PersonId, at: Instant): Promise<readonly StoredArtifact[]>
  /** How many sessions a person has. */
  countSessions(personId: PersonId, at: Instant): Promise<number>
  /** Removes what expired before `before`, at most `limit`; returns how many. Used codes are kept until then, to detect replays. */
  sweep(before: Instant, limit: number): Promise<number>
}
