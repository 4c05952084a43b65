/** Sessions that have ended, of which applications are yet to be told. */
import type { Instant } from '#domain/clock.ts'
import type { Artifact } from '#signin/register/artifact.ts'
import type { ClaimBounds, Logouts, WaitingLogout } from '#signin/register/logout.ts'
import type { PersonId } from '#signin/register/person.ts'
import { all, type Engine, type Named, run, type Statements } from '../statements.ts'

interface LogoutRow {
  readonly id: string
  readonly client_id: string
  readonly person_id: PersonId
  readonly sid: string
  readonly tries: number
  readonly ended_at: Instant
}

const toWaiting = (row: LogoutRow): WaitingLogout => ({
  id: row.id,
  clientId: row.client_id,
  personId: row.person_id,
  sid: row.sid,
  tries: row.tries,
  endedAt: row.ended_at,
})

/** What is read of a session: the applications that are open in it. */
interface Session {
  readonly uid?: string
  readonly authorizations?: Readonly<
    Record<string, { readonly sid?: string; readonly grantId?: string }>
  >
}

const toSession = ({ payload }: { readonly payload: string }): Session => JSON.parse(payload)

/** Of each application in a session that has an address to be told at, and is not in what is kept of the session. */
function* noteEndedBy(
  which: string,
  bindings: Named,
  kept: readonly Session[],
  at: Instant,
): Statements<void> {
  const ended = yield* all<{ uid: string | null; person_id: PersonId; payload: string }>(
    `SELECT uid, person_id, payload FROM artifacts
     WHERE kind = 'Session' AND person_id IS NOT NULL AND expires_at > $at AND ${which}`,
    { ...bindings, at },
  )
  for (const { uid, person_id: personId, ...row } of ended) {
    const goesOn = kept.filter((session) => session.uid === uid)
    for (const [clientId, { sid, grantId }] of Object.entries(
      toSession(row).authorizations ?? {},
    )) {
      if (grantId == null || goesOn.some(({ authorizations }) => authorizations?.[clientId]))
        continue
      yield* run(
        `INSERT INTO logouts (id, client_id, person_id, sid, next_try_at, ended_at)
         SELECT CAST($id AS text), id, CAST($personId AS text), CAST($sid AS text), CAST($at AS bigint), $at
         FROM clients WHERE id = $clientId AND backchannel_logout_uri IS NOT NULL`,
        { id: crypto.randomUUID().replaceAll('-', ''), clientId, personId, sid, at },
      )
    }
  }
}

/** Before the session is removed. `kept`: what becomes of sessions in the same transaction, which may go on under another id. */
export const noteEnded = (
  digest: string,
  kept: readonly Artifact[],
  at: Instant,
): Statements<void> => noteEndedBy('sha256 = $digest', { digest }, kept.map(toSession), at)

/** Before all sessions of a person are removed. */
export const noteAllEnded = (personId: string, at: Instant): Statements<void> =>
  noteEndedBy('person_id = $personId', { personId }, [], at)

/** Those that are due: of each application only so many as it may be told at once beside those that are under way. */
function* dueOf(at: Instant, { most, mostOfOne, underWay }: ClaimBounds): Statements<LogoutRow[]> {
  const rows = yield* all<LogoutRow & { readonly nth: number }>(
    `SELECT * FROM (
       SELECT logouts.*, row_number() OVER (PARTITION BY client_id ORDER BY next_try_at) AS nth
       FROM logouts WHERE next_try_at <= $at) AS due
     WHERE nth <= $mostOfOne ORDER BY next_try_at LIMIT $limit`,
    // Each that is under way keeps back one of those at most.
    { at, mostOfOne, limit: most + underWay.length },
  )
  const told = (row: LogoutRow): number => underWay.filter((id) => id === row.client_id).length
  return rows.filter((row) => row.nth + told(row) <= mostOfOne).slice(0, most)
}

export const createLogouts = (engine: Engine): Logouts => ({
  async claim(at, leaseUntil, bounds) {
    if ((await engine.read(() => dueOf(at, bounds))).length === 0) return []
    // While the disk takes no writes nothing could be noted of an attempt, so none is made.
    const leased = await engine.attempt(function* () {
      const rows = yield* dueOf(at, bounds)
      for (const { id } of rows) {
        yield* run('UPDATE logouts SET next_try_at = $leaseUntil WHERE id = $id', {
          id,
          leaseUntil,
        })
      }
      return rows
    })
    return (leased ?? []).map(toWaiting)
  },
  async reschedule(id, tries, nextTryAt) {
    await engine.run('UPDATE logouts SET tries = $tries, next_try_at = $nextTryAt WHERE id = $id', {
      id,
      tries,
      nextTryAt,
    })
  },
  async drop(id) {
    await engine.run('DELETE FROM logouts WHERE id = $id', { id })
  },
})
