/** Revocations of people and clients in SQLite, for the transactions of the sign-in provider's ports. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import { statement } from '../engine/statement.ts'
import { prepareEndedSessions } from './logouts.ts'

export interface Revocations {
  /** How many there were. */
  count(): number
  /** Whether a person or client was revoked after there were `count`. */
  isRevoked(subject: string, count: number): boolean
  /** Ends all that was issued, and refuses what was begun before. `subject`: the id of a person or a client. */
  revoke(subject: string, at: Instant): void
  /** Ends all that was issued; what was begun before is not refused. */
  endArtifacts(subject: string, at: Instant): void
}

/** Every method runs in the transaction of its caller. */
export function prepareRevocations(database: Database): Revocations {
  const count = statement<{ n: number }>(database, 'SELECT ifnull(max(n), 0) AS n FROM revocations')
  const later = statement<{ n: number }, [string, number]>(
    database,
    'SELECT n FROM revocations WHERE subject = ? AND n > ?',
  )
  const mark = statement<unknown, [string]>(
    database,
    'REPLACE INTO revocations SELECT ?, 1 + ifnull(max(n), 0) FROM revocations',
  )
  const end = statement<unknown, [{ subject: string }]>(
    database,
    'DELETE FROM artifacts WHERE person_id = $subject OR client_id = $subject',
  )
  const endedSessions = prepareEndedSessions(database)
  const endArtifacts = (subject: string, at: Instant): void => {
    endedSessions.noteAll(subject, at)
    end().run({ subject })
  }
  return {
    count: () => count().get()?.n ?? 0,
    isRevoked: (subject, count) => later().get(subject, count) !== null,
    revoke(subject, at) {
      mark().run(subject)
      endArtifacts(subject, at)
    },
    endArtifacts,
  }
}
