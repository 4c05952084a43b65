/** Sign-in artifacts: what one request changes is one act, refused if another changed what it had read; a kill loses none that a client was told of. */
import type { Instant } from '#domain/clock.ts'
import type {
  ArtifactChange,
  Artifacts,
  ArtifactWrite,
  StoredArtifact,
} from '#signin/register/artifact.ts'
import type { PersonId } from '#signin/register/person.ts'
import { noteAct } from '../log/acts.ts'
import { all, count, type Engine, get, run, type Statements } from '../statements.ts'
import { noteEvent } from './events.ts'
import { noteEnded } from './logouts.ts'
import { countRevocations, isRevoked, revoke } from './revocations.ts'

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
  readonly version: number
}

const toArtifact = (row: ArtifactRow): StoredArtifact => ({
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
})

const SESSION = 'Session'

function* isAsRead(
  { kind, digest, version, after }: ArtifactChange,
  counted: number,
): Statements<boolean> {
  const row = yield* get<{ version: number }>(
    'SELECT version FROM artifacts WHERE kind = $kind AND sha256 = $digest',
    { kind, digest },
  )
  if ((row?.version ?? 0) !== version) return false
  for (const subject of [after?.personId, after?.clientId]) {
    if (subject != null && (yield* isRevoked(subject, counted))) return false
  }
  return true
}

function* apply(
  at: Instant,
  { changes, revokedGrants, revocations, events }: ArtifactWrite,
): Statements<void> {
  const sessions = changes.filter(({ kind }) => kind === SESSION)
  const kept = sessions.flatMap(({ after }) => after ?? [])
  for (const { digest } of sessions) yield* noteEnded(digest, kept, at)
  for (const { kind, grantId } of revokedGrants) {
    yield* run('DELETE FROM artifacts WHERE grant_id = $grantId AND kind = $kind', {
      grantId,
      kind,
    })
  }
  for (const { kind, digest, after } of changes) {
    if (after === null) yield* remove(kind, digest)
    else {
      yield* run(
        `INSERT INTO artifacts (kind, sha256, payload, grant_id, uid, person_id, client_id, consumed_at, expires_at, revocations)
         VALUES ($kind, $digest, $payload, $grantId, $uid, $personId, $clientId, $consumedAt, $expiresAt, $revocations)
         ON CONFLICT (kind, sha256) DO UPDATE SET payload = $payload, grant_id = $grantId, uid = $uid, person_id = $personId,
           client_id = $clientId, consumed_at = $consumedAt, expires_at = $expiresAt, version = artifacts.version + 1`,
        { ...after, revocations },
      )
    }
  }
  for (const event of events) yield* noteEvent(event)
}

const remove = (kind: string, digest: string): Statements<number> =>
  run('DELETE FROM artifacts WHERE kind = $kind AND sha256 = $digest', { kind, digest })

const countSessions = (personId: PersonId, at: Instant): Statements<number> =>
  count("artifacts WHERE person_id = $personId AND kind = 'Session' AND expires_at > $at", {
    personId,
    at,
  })

function* find(column: 'sha256' | 'uid', kind: string, value: string) {
  const row = yield* get<ArtifactRow>(
    `SELECT * FROM artifacts WHERE ${column} = $value AND kind = $kind`,
    { kind, value },
  )
  return row === null ? undefined : toArtifact(row)
}

export const createArtifacts = (engine: Engine): Artifacts => ({
  write: (write) =>
    engine.writeInTurn(function* () {
      for (const change of write.changes) {
        if (!(yield* isAsRead(change, write.revocations))) return false
      }
      yield* apply(engine.clock.now(), write)
      return true
    }),
  revocations: () => engine.read(countRevocations),
  find: (kind, digest) => engine.read(() => find('sha256', kind, digest)),
  findByUid: (kind, uid) => engine.read(() => find('uid', kind, uid)),
  revokePerson: (personId, act) =>
    engine.change(function* () {
      const sessions = yield* countSessions(personId, act.at)
      yield* revoke(personId, act.at)
      yield* noteAct(act, { ended_sessions: sessions })
      return sessions
    }),
  end: (ended, noted) =>
    engine.change(function* () {
      for (const { kind, digest } of ended) {
        if (kind === SESSION) yield* noteEnded(digest, [], engine.clock.now())
        yield* remove(kind, digest)
      }
      yield* 'verb' in noted ? noteAct(noted) : noteEvent(noted)
    }),
  async ofPerson(kind, personId, at) {
    const rows = await engine.read(() =>
      all<ArtifactRow>(
        `SELECT * FROM artifacts WHERE person_id = $personId AND kind = $kind AND expires_at > $at
         ORDER BY expires_at DESC, sha256`,
        { personId, kind, at },
      ),
    )
    return rows.map(toArtifact)
  },
  countSessions: (personId, at) => engine.read(() => countSessions(personId, at)),
  sweep: (before, limit) =>
    engine.run(
      `DELETE FROM artifacts WHERE (kind, sha256) IN
         (SELECT kind, sha256 FROM artifacts WHERE expires_at < $before LIMIT $limit)`,
      { before, limit },
    ),
})
