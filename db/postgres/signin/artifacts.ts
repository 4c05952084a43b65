/** Sign-in artifacts in PostgreSQL: what one request changes is one act, refused if another changed what it had read. */
import type { Instant } from '#domain/clock.ts'
import type { ArtifactChange, Artifacts, ArtifactWrite } from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type ArtifactRow, toArtifact } from '../../rows/artifact-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { noteEvent } from './events.ts'
import { noteEnded } from './logouts.ts'
import { countRevocations, isRevoked, revoke } from './revocations.ts'

const SESSION = 'Session'

async function isAsRead(
  tx: Sql,
  { kind, digest, version, after }: ArtifactChange,
  counted: number,
): Promise<boolean> {
  const row = await tx.get<{ version: number }>(
    'SELECT version FROM artifacts WHERE kind = ? AND sha256 = ?',
    kind,
    digest,
  )
  if ((row?.version ?? 0) !== version) return false
  for (const subject of [after?.personId, after?.clientId]) {
    if (subject != null && (await isRevoked(tx, subject, counted))) return false
  }
  return true
}

async function apply(
  tx: Sql,
  at: Instant,
  { changes, revokedGrants, revocations, events }: ArtifactWrite,
): Promise<void> {
  const sessions = changes.filter(({ kind }) => kind === SESSION)
  const kept = sessions.flatMap(({ after }) => after ?? [])
  for (const { digest } of sessions) await noteEnded(tx, digest, kept, at)
  for (const { kind, grantId } of revokedGrants) {
    await tx.run('DELETE FROM artifacts WHERE grant_id = ? AND kind = ?', grantId, kind)
  }
  for (const { kind, digest, after } of changes) {
    if (after === null) await remove(tx, kind, digest)
    else {
      await tx.run(
        `INSERT INTO artifacts (kind, sha256, payload, grant_id, uid, person_id, client_id, consumed_at, expires_at, revocations)
         VALUES ($kind, $digest, $payload, $grantId, $uid, $personId, $clientId, $consumedAt, $expiresAt, $revocations)
         ON CONFLICT (kind, sha256) DO UPDATE SET payload = $payload, grant_id = $grantId, uid = $uid, person_id = $personId,
           client_id = $clientId, consumed_at = $consumedAt, expires_at = $expiresAt, version = artifacts.version + 1`,
        { ...after, revocations },
      )
    }
  }
  for (const event of events) await noteEvent(tx, event)
}

const remove = (tx: Sql, kind: string, digest: string) =>
  tx.run('DELETE FROM artifacts WHERE kind = ? AND sha256 = ?', kind, digest)

async function countSessions(sql: Sql, personId: PersonId, at: Instant): Promise<number> {
  const row = await sql.get<{ n: number }>(
    "SELECT count(*) AS n FROM artifacts WHERE person_id = ? AND kind = 'Session' AND expires_at > ?",
    personId,
    at,
  )
  return row?.n ?? 0
}

export const createArtifacts = (database: Database): Artifacts => ({
  write: (write) =>
    database.change(async (tx) => {
      for (const change of write.changes) {
        if (!(await isAsRead(tx, change, write.revocations))) return false
      }
      await apply(tx, database.clock.now(), write)
      return true
    }),
  revocations: () => countRevocations(database),
  async find(kind, digest) {
    return toArtifact(
      await database.get<ArtifactRow>(
        'SELECT * FROM artifacts WHERE kind = ? AND sha256 = ?',
        kind,
        digest,
      ),
    )
  },
  async findByUid(kind, uid) {
    return toArtifact(
      await database.get<ArtifactRow>(
        'SELECT * FROM artifacts WHERE uid = ? AND kind = ?',
        uid,
        kind,
      ),
    )
  },
  revokePerson: (personId, act) =>
    database.change(async (tx) => {
      const sessions = await countSessions(tx, personId, act.at)
      await revoke(tx, personId, act.at)
      await noteAct(tx, act, { ended_sessions: sessions })
      return sessions
    }),
  end: (ended, noted) =>
    database.change(async (tx) => {
      for (const { kind, digest } of ended) {
        if (kind === SESSION) await noteEnded(tx, digest, [], database.clock.now())
        await remove(tx, kind, digest)
      }
      await ('verb' in noted ? noteAct(tx, noted) : noteEvent(tx, noted))
    }),
  async ofPerson(kind, personId, at) {
    const rows = await database.all<ArtifactRow>(
      `SELECT * FROM artifacts WHERE person_id = ? AND kind = ? AND expires_at > ?
       ORDER BY expires_at DESC, sha256`,
      ...[personId, kind, at],
    )
    return rows.flatMap((row) => toArtifact(row) ?? [])
  },
  countSessions: (personId, at) => countSessions(database, personId, at),
  sweep: (before, limit) =>
    database.run(
      `DELETE FROM artifacts WHERE (kind, sha256) IN
         (SELECT kind, sha256 FROM artifacts WHERE expires_at < ? LIMIT ?)`,
      before,
      limit,
    ),
})
