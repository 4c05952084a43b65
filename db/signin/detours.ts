/** Detours: the statement that looks a state up also consumes it, so that it is accepted only once. */
import type { Detours, PendingIdentity } from '#signin/register/detour.ts'
import { type Engine, get, run } from '../statements.ts'

/** Who came back from a third party. */
interface ArrivalRow {
  readonly provider: string
  readonly subject: string
  readonly told_name: string | null
  readonly told_email: string | null
}

const toArrival = (row: ArrivalRow): PendingIdentity => ({
  provider: row.provider,
  subject: row.subject,
  claimedName: row.told_name,
  claimedEmail: row.told_email,
})

export const createDetours = (engine: Engine): Detours => ({
  begin: (detour) =>
    engine.write(function* () {
      yield* run('DELETE FROM detours WHERE interaction = $interaction', { ...detour })
      // Inserts nothing if the provider was removed, because the row would refer to nothing.
      yield* run(
        `INSERT INTO detours (interaction, provider, state_sha256, expires_at)
         SELECT CAST($interaction AS text), name, CAST($state AS text), CAST($expiresAt AS bigint)
         FROM identity_providers WHERE name = $provider`,
        { ...detour },
      )
    }),
  async end(detour, at) {
    const ended = await engine.run(
      `UPDATE detours SET state_sha256 = NULL
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 = $state AND expires_at > $at`,
      { ...detour, at },
    )
    return ended === 1
  },
  async keepIdentity(interaction, arrival) {
    const kept = await engine.run(
      `UPDATE detours SET subject = $subject, told_name = $claimedName, told_email = $claimedEmail
       WHERE interaction = $interaction AND provider = $provider AND state_sha256 IS NULL`,
      { interaction, ...arrival },
    )
    return kept === 1
  },
  async pendingIdentity(interaction, at) {
    const row = await engine.read(() =>
      get<ArrivalRow>(
        `SELECT provider, subject, told_name, told_email FROM detours
         WHERE interaction = $interaction AND subject IS NOT NULL AND expires_at > $at`,
        { interaction, at },
      ),
    )
    return row === null ? undefined : toArrival(row)
  },
  async drop(interaction) {
    await engine.run('DELETE FROM detours WHERE interaction = $interaction', { interaction })
  },
  sweep: (before, limit) =>
    engine.run(
      `DELETE FROM detours WHERE interaction IN
         (SELECT interaction FROM detours WHERE expires_at < $before LIMIT $limit)`,
      { before, limit },
    ),
})
