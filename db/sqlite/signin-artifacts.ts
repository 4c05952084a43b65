/** Sign-in artifacts in SQLite, written in the group commit of their turn; a kill loses none that a client was told of. */
import type { Instant } from '#domain/clock.ts'
import type { Artifact, Artifacts } from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { Connection } from './connection.ts'
import { type Named, statement } from './statement.ts'

interface ArtifactRow {
  readonly kind: string
  readonly sha256: string
  readonly payload: string
  readonly grant_id: string | null
  readonly uid: string | null
  readonly person_id: PersonId | null
  readonly client_id: string | null
  readonly consumed_at: Instant | null
  readonly expires_at: Instant
}

export function createArtifacts({ database, commit }: Connection): Artifacts {
  const table = prepare(database)

  return {
    put: ({ consumedAt: _, ...artifact }) =>
      commit.enqueue(() => {
        table.put().run({ ...artifact })
      }),
    async find(kind, digest) {
      commit.flush()
      return toArtifact(table.find().get(kind, digest))
    },
    async findByUid(kind, uid) {
      commit.flush()
      return toArtifact(table.findByUid().get(uid, kind))
    },
    async consume(kind, digest, at) {
      let changes = 0
      await commit.enqueue(() => {
        changes = table.consume().run({ kind, digest, at }).changes
      })
      return changes === 1
    },
    extend: (kind, digest, expiresAt) =>
      commit.enqueue(() => {
        table.extend().run({ kind, digest, expiresAt })
      }),
    remove: (kind, digest) =>
      commit.enqueue(() => {
        table.remove().run(kind, digest)
      }),
    revokeGrant: (kind, grantId) =>
      commit.enqueue(() => {
        table.revokeGrant().run(grantId, kind)
      }),
    revokePerson: (personId, at) =>
      commit.commitDurably(() => {
        const sessions = table.countSessions().get(personId, at)?.n ?? 0
        table.revokePerson().run(personId)
        return sessions
      }),
    async countSessions(personId, at) {
      commit.flush()
      return table.countSessions().get(personId, at)?.n ?? 0
    },
    async sweep(before) {
      let changes = 0
      await commit.enqueue(() => {
        changes = table.sweep().run(before).changes
      })
      return changes
    },
  }
}

/** Slices keep each transaction short, so that streams are not delayed. */
const MAX_SWEPT = 1000

function prepare(database: Connection['database']) {
  return {
    put: statement<unknown, [Named]>(
      database,
      `INSERT INTO artifacts (kind, sha256, payload, grant_id, uid, person_id, client_id, expires_at)
       VALUES ($kind, $digest, $payload, $grantId, $uid, $personId, $clientId, $expiresAt)
       ON CONFLICT DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
         person_id = excluded.person_id, client_id = excluded.client_id, expires_at = excluded.expires_at`,
    ),
    find: statement<ArtifactRow, [string, string]>(
      database,
      'SELECT * FROM artifacts WHERE kind = ? AND sha256 = ?',
    ),
    findByUid: statement<ArtifactRow, [string, string]>(
      database,
      'SELECT * FROM artifacts WHERE uid = ? AND kind = ?',
    ),
    consume: statement<unknown, [{ kind: string; digest: string; at: Instant }]>(
      database,
      `UPDATE artifacts SET consumed_at = $at
       WHERE kind = $kind AND sha256 = $digest AND consumed_at IS NULL`,
    ),
    extend: statement<unknown, [{ kind: string; digest: string; expiresAt: Instant }]>(
      database,
      `UPDATE artifacts SET expires_at = $expiresAt
       WHERE kind = $kind AND sha256 = $digest AND expires_at < $expiresAt`,
    ),
    remove: statement<unknown, [string, string]>(
      database,
      'DELETE FROM artifacts WHERE kind = ? AND sha256 = ?',
    ),
    revokeGrant: statement<unknown, [string, string]>(
      database,
      'DELETE FROM artifacts WHERE grant_id = ? AND kind = ?',
    ),
    countSessions: statement<{ n: number }, [PersonId, Instant]>(
      database,
      "SELECT count(*) AS n FROM artifacts WHERE person_id = ? AND kind = 'Session' AND expires_at > ?",
    ),
    revokePerson: statement<unknown, [PersonId]>(
      database,
      'DELETE FROM artifacts WHERE person_id = ?',
    ),
    sweep: statement<unknown, [Instant]>(
      database,
      `DELETE FROM artifacts WHERE (kind, sha256) IN
         (SELECT kind, sha256 FROM artifacts WHERE expires_at < ? LIMIT ${MAX_SWEPT})`,
    ),
  }
}

const toArtifact = (row: ArtifactRow | null): Artifact | undefined =>
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
      }
