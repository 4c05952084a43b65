/** Sign-in artifacts in SQLite, written in the group commit of their turn; a kill loses none that a client was told of. */
import type { Instant } from '#domain/clock.ts'
import type { ArtifactChange, Artifacts, ArtifactWrite } from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type ArtifactRow, toArtifact } from '../../rows/artifact-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareNoteEvent } from './events.ts'
import { prepareEndedSessions } from './logouts.ts'
import { prepareRevocations } from './revocations.ts'

const SESSION = 'Session'

export function createArtifacts({ database, commit, clock }: Connection): Artifacts {
  const table = prepare(database)
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)
  const noteEvent = prepareNoteEvent(database)
  const endedSessions = prepareEndedSessions(database)

  const isAsRead = ({ kind, digest, version, after }: ArtifactChange, counted: number): boolean => {
    if ((table.version().get(kind, digest)?.version ?? 0) !== version) return false
    const subjects = [after?.personId, after?.clientId]
    return !subjects.some((subject) => subject != null && revocations.isRevoked(subject, counted))
  }
  const apply = ({ changes, revokedGrants, revocations, events }: ArtifactWrite): void => {
    const sessions = changes.filter(({ kind }) => kind === SESSION)
    const kept = sessions.flatMap(({ after }) => after ?? [])
    for (const { digest } of sessions) endedSessions.note(digest, kept, clock.now())
    for (const { kind, grantId } of revokedGrants) table.revokeGrant().run(grantId, kind)
    for (const { kind, digest, after } of changes) {
      if (after === null) table.remove().run(kind, digest)
      else table.put().run({ ...after, revocations })
    }
    for (const event of events) noteEvent(event)
  }

  return {
    write: (write) =>
      commit.enqueue(() => {
        const isWritten = write.changes.every((change) => isAsRead(change, write.revocations))
        if (isWritten) apply(write)
        return isWritten
      }),
    revocations: async () => revocations.count(),
    async find(kind, digest) {
      return toArtifact(table.find().get(kind, digest))
    },
    async findByUid(kind, uid) {
      return toArtifact(table.findByUid().get(uid, kind))
    },
    revokePerson: (personId, act) =>
      commit.commitDurably(() => {
        const sessions = table.countSessions().get(personId, act.at)?.n ?? 0
        revocations.revoke(personId, act.at)
        noteAct(act, { ended_sessions: sessions })
        return sessions
      }),
    end: (ended, noted) =>
      commit.commitDurably(() => {
        for (const { kind, digest } of ended) {
          if (kind === SESSION) endedSessions.note(digest, [], clock.now())
          table.remove().run(kind, digest)
        }
        if ('verb' in noted) noteAct(noted)
        else noteEvent(noted)
      }),
    async ofPerson(kind, personId, at) {
      return table
        .ofPerson()
        .all(personId, kind, at)
        .flatMap((row) => toArtifact(row) ?? [])
    },
    async countSessions(personId, at) {
      return table.countSessions().get(personId, at)?.n ?? 0
    },
    sweep: (before, limit) => commit.enqueue(() => table.sweep().run(before, limit).changes),
  }
}

function prepare(database: Connection['database']) {
  return {
    version: statement<{ version: number }, [string, string]>(
      database,
      'SELECT version FROM artifacts WHERE kind = ? AND sha256 = ?',
    ),
    put: statement<unknown, [Named]>(
      database,
      `INSERT INTO artifacts (kind, sha256, payload, grant_id, uid, person_id, client_id, consumed_at, expires_at, revocations)
       VALUES ($kind, $digest, $payload, $grantId, $uid, $personId, $clientId, $consumedAt, $expiresAt, $revocations)
       ON CONFLICT DO UPDATE SET payload = $payload, grant_id = $grantId, uid = $uid, person_id = $personId,
         client_id = $clientId, consumed_at = $consumedAt, expires_at = $expiresAt, version = version + 1`,
    ),
    find: statement<ArtifactRow, [string, string]>(
      database,
      'SELECT * FROM artifacts WHERE kind = ? AND sha256 = ?',
    ),
    findByUid: statement<ArtifactRow, [string, string]>(
      database,
      'SELECT * FROM artifacts WHERE uid = ? AND kind = ?',
    ),
    remove: statement<unknown, [string, string]>(
      database,
      'DELETE FROM artifacts WHERE kind = ? AND sha256 = ?',
    ),
    revokeGrant: statement<unknown, [string, string]>(
      database,
      'DELETE FROM artifacts WHERE grant_id = ? AND kind = ?',
    ),
    ofPerson: statement<ArtifactRow, [PersonId, string, Instant]>(
      database,
      `SELECT * FROM artifacts WHERE person_id = ? AND kind = ? AND expires_at > ?
       ORDER BY expires_at DESC, sha256`,
    ),
    countSessions: statement<{ n: number }, [PersonId, Instant]>(
      database,
      "SELECT count(*) AS n FROM artifacts WHERE person_id = ? AND kind = 'Session' AND expires_at > ?",
    ),
    sweep: statement<unknown, [Instant, number]>(
      database,
      `DELETE FROM artifacts WHERE (kind, sha256) IN
         (SELECT kind, sha256 FROM artifacts WHERE expires_at < ? LIMIT ?)`,
    ),
  }
}
