/** Sessions that have ended, of which applications are yet to be told, in SQLite. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { Artifact } from '#signin/register/artifact.ts'
import type { ClaimBounds, Logouts } from '#signin/register/logout.ts'
import { type LogoutRow, toWaiting } from '../../rows/logout-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'

/** Every method runs in the transaction of its caller, before the sessions are removed. */
export interface EndedSessions {
  /** `kept`: what becomes of sessions in the same transaction, which may go on under another id. */
  note(digest: string, kept: readonly Artifact[], at: Instant): void
  /** All sessions of a person. */
  noteAll(personId: string, at: Instant): void
}

/** Of each application in a session that has an address to be told at, and is not in what is kept of the session. */
const APPLICATIONS = `
  INSERT INTO logouts (id, client_id, person_id, sid, next_try_at, ended_at)
  SELECT lower(hex(randomblob(16))), c.id, a.person_id, j.value ->> '$.sid', $at, $at
  FROM artifacts a, json_each(a.payload, '$.authorizations') j JOIN clients c ON c.id = j.key
  WHERE a.kind = 'Session' AND a.person_id IS NOT NULL AND a.expires_at > $at
    AND c.backchannel_logout_uri IS NOT NULL AND j.value ->> '$.grantId' IS NOT NULL`

export function prepareEndedSessions(database: Database): EndedSessions {
  const one = statement<unknown, [Named]>(
    database,
    `${APPLICATIONS} AND a.sha256 = $digest AND NOT EXISTS (
       SELECT 1 FROM json_each($kept) k, json_each(k.value, '$.authorizations') o
       WHERE k.value ->> '$.uid' = a.uid AND o.key = j.key)`,
  )
  const all = statement<unknown, [Named]>(database, `${APPLICATIONS} AND a.person_id = $personId`)
  return {
    note: (digest, kept, at) =>
      void one().run({ digest, kept: `[${kept.map(({ payload }) => payload).join()}]`, at }),
    noteAll: (personId, at) => void all().run({ personId, at }),
  }
}

export function createLogouts({ database, commit }: Connection): Logouts {
  const next = statement<LogoutRow, [Named]>(
    database,
    `SELECT * FROM logouts WHERE next_try_at <= $at AND id NOT IN (SELECT value FROM json_each($taken))
       AND client_id NOT IN (SELECT value FROM json_each($busy))
     ORDER BY next_try_at LIMIT 1`,
  )
  /** One by one, because each counts against the share of its application. */
  const dueOf = (at: Instant, { most, mostOfOne, underWay }: ClaimBounds): readonly LogoutRow[] => {
    const rows: LogoutRow[] = []
    while (rows.length < most) {
      const told = [...underWay, ...rows.map(({ client_id }) => client_id)]
      const busy = told.filter((one) => told.filter((id) => id === one).length >= mostOfOne)
      const taken = rows.map(({ id }) => id)
      const row = next().get({ at, taken: JSON.stringify(taken), busy: JSON.stringify(busy) })
      if (row === null) break
      rows.push(row)
    }
    return rows
  }
  const reschedule = statement<unknown, [Named]>(
    database,
    'UPDATE logouts SET tries = $tries, next_try_at = $nextTryAt WHERE id = $id',
  )
  const drop = statement<unknown, [string]>(database, 'DELETE FROM logouts WHERE id = ?')
  return {
    async claim(at, leaseUntil, bounds) {
      const rows = dueOf(at, bounds)
      const lease = (): void => {
        for (const { id, tries } of rows) reschedule().run({ id, tries, nextTryAt: leaseUntil })
      }
      // While the disk takes no writes nothing could be noted of an attempt, so none is made.
      const isLeased = rows.length === 0 || commit.tryWrite(lease)
      return isLeased ? rows.map(toWaiting) : []
    },
    reschedule: (id, tries, nextTryAt) =>
      commit.enqueue(() => void reschedule().run({ id, tries, nextTryAt })),
    drop: (id) => commit.enqueue(() => void drop().run(id)),
  }
}
