/** Revocations of people and clients, in the transactions of the sign-in provider's ports. */
import type { Instant } from '#domain/clock.ts'
import type { Sql } from '../engine/database.ts'
import { noteAllEnded } from './logouts.ts'

/** How many there were. */
export const countRevocations = async (sql: Sql): Promise<number> =>
  (await sql.get<{ n: number }>('SELECT coalesce(max(n), 0)::bigint AS n FROM revocations'))?.n ?? 0

/** Whether a person or client was revoked after there were `count`. */
export const isRevoked = async (sql: Sql, subject: string, count: number): Promise<boolean> =>
  (await sql.get('SELECT n FROM revocations WHERE subject = ? AND n > ?', subject, count)) !== null

/** Ends all that was issued, and refuses what was begun before. `subject`: the id of a person or a client. */
export async function revoke(tx: Sql, subject: string, at: Instant): Promise<void> {
  await tx.run(
    `INSERT INTO revocations SELECT ?, 1 + coalesce(max(n), 0) FROM revocations
     ON CONFLICT (subject) DO UPDATE SET n = excluded.n`,
    subject,
  )
  await endArtifacts(tx, subject, at)
}

/** Ends all that was issued; what was begun before is not refused. */
export async function endArtifacts(tx: Sql, subject: string, at: Instant): Promise<void> {
  await noteAllEnded(tx, subject, at)
  await tx.run('DELETE FROM artifacts WHERE person_id = $subject OR client_id = $subject', {
    subject,
  })
}
