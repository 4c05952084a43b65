/** Revocations of people and clients, in the transactions of the sign-in provider's ports. */
import type { Instant } from '#domain/clock.ts'
import { get, run, type Statements } from '../statements.ts'
import { noteAllEnded } from './logouts.ts'

/** How many there were. */
export function* countRevocations(): Statements<number> {
  const row = yield* get<{ n: number }>(
    'SELECT CAST(coalesce(max(n), 0) AS bigint) AS n FROM revocations',
  )
  return row?.n ?? 0
}

/** Whether a person or client was revoked after there were `count`. */
export function* isRevoked(subject: string, count: number): Statements<boolean> {
  const bindings = { subject, count }
  const row = yield* get(
    'SELECT n FROM revocations WHERE subject = $subject AND n > $count',
    bindings,
  )
  return row !== null
}

/** Ends all that was issued, and refuses what was begun before. `subject`: the id of a person or a client. */
export function* revoke(subject: string, at: Instant): Statements<void> {
  yield* run(
    `INSERT INTO revocations SELECT $subject, 1 + coalesce(max(n), 0) FROM revocations WHERE true
     ON CONFLICT (subject) DO UPDATE SET n = excluded.n`,
    { subject },
  )
  yield* endArtifacts(subject, at)
}

/** Ends all that was issued; what was begun before is not refused. */
export function* endArtifacts(subject: string, at: Instant): Statements<void> {
  yield* noteAllEnded(subject, at)
  yield* run('DELETE FROM artifacts WHERE person_id = $subject OR client_id = $subject', {
    subject,
  })
}
