/** Ends epochs: what they hold is void, and nothing is admitted by them any more. */
import type { Instant } from '#domain/clock.ts'
import { type HoldRow, toActivity } from '../../sqlite/admission/expire.ts'
import type { Database } from '../engine/database.ts'
import { askSettlement } from './settle.ts'

/**
 * Voids what these epochs hold, which nothing is admitted by any more, all in one act, while no admission runs; and all that a node
 * holds, which says that it has just begun.
 */
export async function expire(
  database: Database,
  epochs: readonly string[],
  at: Instant,
  node: string | null = null,
): Promise<void> {
  await database.transact(async (tx) => {
    await tx.run('SELECT pg_advisory_xact_lock(7001)')
    await tx.run(
      'INSERT INTO ended_epochs SELECT epoch, ? FROM unnest(?::text[]) AS u(epoch) ON CONFLICT DO NOTHING',
      at,
      epochs,
    )
    const holds = await tx.all<HoldRow>(
      'SELECT * FROM holds WHERE epoch = ANY (?::text[]) OR node = ?',
      epochs,
      node,
    )
    if (holds.length === 0) return
    await askSettlement(
      tx,
      holds.map((hold) => ({
        id: hold.generation_id,
        settlement: {
          at,
          charge: null,
          activity: toActivity(hold, Math.max(0, at - hold.admitted_at)),
          answer: null,
        },
      })),
    )
  })
}
