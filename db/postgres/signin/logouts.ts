/** Sessions that have ended, of which applications are yet to be told, in PostgreSQL. */
import type { Instant } from '#domain/clock.ts'
import type { Artifact } from '#signin/register/artifact.ts'
import type { Logouts } from '#signin/register/logout.ts'
import { type LogoutRow, toWaiting } from '../../rows/logout-row.ts'
import type { Database, Sql } from '../engine/database.ts'

/** Of each application in a session that has an address to be told at, and is not in what is kept of the session. */
const APPLICATIONS = `
  INSERT INTO logouts (id, client_id, person_id, sid, next_try_at, ended_at)
  SELECT replace(gen_random_uuid()::text, '-', ''), c.id, a.person_id, j.value ->> 'sid', $at::bigint, $at
  FROM artifacts a CROSS JOIN LATERAL jsonb_each(a.payload::jsonb -> 'authorizations') AS j (key, value) JOIN clients c ON c.id = j.key
  WHERE a.kind = 'Session' AND a.person_id IS NOT NULL AND a.expires_at > $at
    AND c.backchannel_logout_uri IS NOT NULL AND j.value ->> 'grantId' IS NOT NULL`

/** Before the session is removed. `kept`: what becomes of sessions in the same transaction, which may go on under another id. */
export async function noteEnded(
  tx: Sql,
  digest: string,
  kept: readonly Artifact[],
  at: Instant,
): Promise<void> {
  await tx.run(
    `${APPLICATIONS} AND a.sha256 = $digest AND NOT EXISTS (
       SELECT FROM jsonb_array_elements($kept::text::jsonb) AS k (value) CROSS JOIN LATERAL jsonb_each(k.value -> 'authorizations') AS o (key, value)
       WHERE k.value ->> 'uid' = a.uid AND o.key = j.key)`,
    { digest, kept: `[${kept.map(({ payload }) => payload).join()}]`, at },
  )
}

/** Before all sessions of a person are removed. */
export async function noteAllEnded(tx: Sql, personId: string, at: Instant): Promise<void> {
  await tx.run(`${APPLICATIONS} AND a.person_id = $personId`, { personId, at })
}

export const createLogouts = (database: Database): Logouts => ({
  claim: (at, leaseUntil, { most, mostOfOne, underWay }) =>
    database.change(async (tx) => {
      const rows = await tx.all<LogoutRow>(
        `SELECT * FROM logouts WHERE next_try_at <= $at AND id IN (
           SELECT id FROM (
             SELECT id, next_try_at, row_number() OVER (PARTITION BY client_id ORDER BY next_try_at)
               + cardinality(array_positions($underWay::text[], client_id)) AS nth
             FROM logouts WHERE next_try_at <= $at) AS due
           WHERE nth <= $mostOfOne ORDER BY next_try_at LIMIT $most)
         ORDER BY next_try_at FOR UPDATE SKIP LOCKED`,
        { at, most, mostOfOne, underWay },
      )
      await tx.run(
        'UPDATE logouts SET next_try_at = ? WHERE id = ANY (?::text[])',
        leaseUntil,
        rows.map(({ id }) => id),
      )
      return rows.map(toWaiting)
    }),
  async reschedule(id, tries, nextTryAt) {
    await database.run(
      'UPDATE logouts SET tries = ?, next_try_at = ? WHERE id = ?',
      tries,
      nextTryAt,
      id,
    )
  },
  async drop(id) {
    await database.run('DELETE FROM logouts WHERE id = ?', id)
  },
})
