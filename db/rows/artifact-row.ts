/** A sign-in artifact as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { StoredArtifact } from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface ArtifactRow {
  readonly kind: string
  readonly sha256: string
  readonly payload: string
  readonly grant_id: string | null
  readonly uid: string | null
  readonly person_id: PersonId | null
  readonly client_id: string | null
  readonly consumed_at: Instant | null
  readonly expires_at: Instant
  readonly revocations: number
  readonly version: number
}

export const toArtifact = (row: ArtifactRow | null): StoredArtifact | undefined =>
  row === null
    ? undefined
    : {
        kind: row.kind,
        digest: row.sha256,
        payload: row.payload,
        grantId: row.grant_id,
        uid: row.uid,
        personId: row.person_id,
        clientId: row.client_id,
        consumedAt: row.consumed_at,
        expiresAt: row.expires_at,
        revocations: row.revocations,
        version: row.version,
      }
