/** Detours in PostgreSQL: the statement that looks a state up also consumes it, so that it is accepted only once. */
import type { Detours } from '#signin/register/detour.ts'
import { type ArrivalRow, toArrival } from '../../rows/arrival-row.ts'
import type { Database } from '../engine/database.ts'

export const createDetours = (database: Database): Detours => ({
  begin: (detour) =>
    database.transact(async (tx) => {
      await tx.run('DELETE FROM detours WHERE interaction = ?', detour.interaction)
      // Inserts nothing if the provider was removed, because the row would refer to nothing.
      await tx.run(
        `INSERT INTO detours (interaction, provider, state_sha256, expires_at)
         SELECT $interaction::text, name, $state::text, $expiresAt::bigint FROM identity_providers WHERE name = $provider`,
        { ...detour },
      )
    }),
  async end(detour, at) {
    const ended = await database.run(
      `UPDATE detours SET state_sha256 = NULL
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 = $state AND expires_at > $at`,
      { ...detour, at },
    )
    return ended === 1
  },
  async keepIdentity(interaction, arrival) {
    const kept = await database.run(
      `UPDATE detours SET subject = $subject, told_name = $claimedName, told_email = $claimedEmail
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 IS NULL`,
      { interaction, ...arrival },
    )
    return kept === 1
  },
  async pendingIdentity(interaction, at) {
    return toArrival(
      await database.get<ArrivalRow>(
        `SELECT provider, subject, told_name, told_email FROM detours
         WHERE interaction = ? AND subject IS NOT NULL AND expires_at > ?`,
        interaction,
        at,
      ),
    )
  },
  async drop(interaction) {
    await database.run('DELETE FROM detours WHERE interaction = ?', interaction)
  },
  sweep: (before, limit) =>
    database.run(
      `DELETE FROM detours WHERE interaction IN
         (SELECT interaction FROM detours WHERE expires_at < ? LIMIT ?)`,
      before,
      limit,
    ),
})
