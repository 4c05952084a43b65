/** Sign-in artifacts in SQLite, written in the group commit of their turn; a kill loses none that a client was told of. */
import type { Instant } from '#domain/clock.ts'
import type { Artifact, Artifacts } from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareRevocations } from './revocations.ts'

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
  readonly revocations: number
}

export function createArtifacts({ database, commit }: Connection): Artifacts {
  const table = prepare(database)
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)

  /** Whether the statement changed its row. */
  const changes = async (run: () => { readonly changes: number }): Promise<boolean> => {
    let count = 0
    await commit.enqueue(() => {
      count = run().changes
    })
    return count === 1
  }

  return {
    add: (artifact) => changes(() => table.add().run(toRow(artifact))),
    replace: (artifact) => changes(() => table.replace().run(toRow(artifact))),
    revocations: async () => revocations.count(),
    async find(kind, digest) {
      commit.flush()
      return toArtifact(table.find().get(kind, digest))
    },
    async findByUid(kind, uid) {
      commit.flush()
      return toArtifact(table.findByUid().get(uid, kind))
    },
    consume: (kind, digest, at) => changes(() => table.consume().run({ kind, digest, at })),
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
    revokePerson: (personId, act) =>
      commit.commitDurably(() => {
        const sessions = table.countSessions().get(personId, act.at)?.n ?? 0
        revocations.revoke(personId)
        noteAct(act, { ended_sessions: sessions })
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

/** Neither its person nor its client was revoked since. */
const MAY_STAND =
  'NOT EXISTS (SELECT 1 FROM revocations WHERE subject IN ($personId, $clientId) AND n > $revocations)'

function prepare(database: Connection['database']) {
  return {
    add: statement<unknown, [Named]>(
      database,
      `INSERT INTO artifacts (kind, sha256, payload, grant_id, uid, person_id, client_id, expires_at, revocations)
       SELECT $kind, $digest, $payload, $grantId, $uid, $personId, $clientId, $expiresAt, $revocations WHERE ${MAY_STAND}
       ON CONFLICT DO NOTHING`,
    ),
    // An update cannot bring back what was removed since it was read.
    replace: statement<unknown, [Named]>(
      database,
      `UPDATE artifacts SET payload = $payload, grant_id = $grantId, uid = $uid, person_id = $personId,
         client_id = $clientId, expires_at = $expiresAt
       WHERE kind = $kind AND sha256 = $digest AND ${MAY_STAND}`,
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
    sweep: statement<unknown, [Instant]>(
      database,
      `DELETE FROM artifacts WHERE (kind, sha256) IN
         (SELECT kind, sha256 FROM artifacts WHERE expires_at < ? LIMIT ${MAX_SWEPT})`,
    ),
  }
}

const toRow = ({ consumedAt: _, ...artifact }: Artifact): Named => artifact

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
        revocations: row.revocations,
      }
