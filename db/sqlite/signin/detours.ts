/** Detours in SQLite: the statement that looks a state up also consumes it, so that it is accepted only once. */
import type { Detours } from '#signin/register/detour.ts'
import { type ArrivalRow, toArrival } from '../../rows/arrival-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'

export function createDetours({ database, commit }: Connection): Detours {
  const table = prepare(database)

  /** Whether the statement changed its row. */
  const changes = (run: () => { readonly changes: number }): Promise<boolean> =>
    commit.enqueue(() => run().changes === 1)

  return {
    begin: (detour) => commit.enqueue(() => void table.begin().run({ ...detour })),
    end: (detour, at) => changes(() => table.end().run({ ...detour, at })),
    keepIdentity: (interaction, arrival) =>
      changes(() => table.keep().run({ interaction, ...arrival })),
    async pendingIdentity(interaction, at) {
      commit.flush()
      return toArrival(table.waiting().get({ interaction, at }))
    },
    drop: (interaction) => commit.enqueue(() => void table.drop().run({ interaction })),
    sweep: (before, limit) => commit.enqueue(() => table.sweep().run({ before, limit }).changes),
  }
}

function prepare(database: Connection['database']) {
  const by = <Row>(sql: string) => statement<Row, [Named]>(database, sql)
  return {
    // Inserts nothing if the provider was removed, because the row would refer to nothing.
    begin: by(
      `REPLACE INTO detours (interaction, provider, state_sha256, expires_at)
       SELECT $interaction, name, $state, $expiresAt FROM identity_providers WHERE name = $provider`,
    ),
    end: by(
      `UPDATE detours SET state_sha256 = NULL
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 = $state AND expires_at > $at`,
    ),
    keep: by(
      `UPDATE detours SET subject = $subject, told_name = $claimedName, told_email = $claimedEmail
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 IS NULL`,
    ),
    waiting: by<ArrivalRow>(
      `SELECT provider, subject, told_name, told_email FROM detours
       WHERE interaction = $interaction AND subject IS NOT NULL AND expires_at > $at`,
    ),
    drop: by('DELETE FROM detours WHERE interaction = $interaction'),
    sweep: by(
      `DELETE FROM detours WHERE interaction IN
         (SELECT interaction FROM detours WHERE expires_at < $before LIMIT $limit)`,
    ),
  }
}
