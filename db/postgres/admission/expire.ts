/** Ends what nobody waits for: the epochs of nodes, and claims of which their node does not know what became of them. */
import type { Instant } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { type HoldRow, toActivity } from '../../sqlite/admission/expire.ts'
import type { Value } from '../engine/bindings.ts'
import type { Database, Sql } from '../engine/database.ts'
import { askSettlement } from './settle.ts'

/**
 * Voids what these epochs hold, which nothing is admitted by any more, all in one act, while no admission runs; and all that these
 * nodes hold, which includes their processes.
 */
export async function expire(
  database: Database,
  epochs: readonly string[],
  at: Instant,
  nodes: readonly string[] = [],
): Promise<void> {
  await alone(database, async (tx) => {
    await tx.run(
      'INSERT INTO ended_epochs SELECT epoch, ? FROM unnest(?::text[]) AS u(epoch) ON CONFLICT DO NOTHING',
      at,
      epochs,
    )
    await voidHolds(tx, 'epoch = ANY (?::text[]) OR node = ANY (?::text[])', [epochs, nodes], at)
  })
}

/** Voids those of these claims that were admitted, and sees to it that the others never are; waits for the database. */
export async function giveUp(
  database: Database,
  ids: readonly GenerationId[],
  at: Instant,
): Promise<void> {
  const write = async (tx: Sql): Promise<void> => {
    await tx.run(
      'INSERT INTO given_up SELECT id, ? FROM unnest(?::text[]) AS u(id) ON CONFLICT DO NOTHING',
      at,
      ids,
    )
    await voidHolds(tx, 'generation_id = ANY (?::text[])', [ids], at)
  }
  await alone(database, write, Number.POSITIVE_INFINITY)
}

/** While no admission runs: each has been written, or will see what is written here. */
const alone = (
  database: Database,
  write: (tx: Sql) => Promise<void>,
  patienceMs?: number,
): Promise<void> =>
  database.transact(async (tx) => {
    await tx.run('SELECT pg_advisory_xact_lock(7001)')
    await write(tx)
  }, patienceMs)

async function voidHolds(
  tx: Sql,
  which: string,
  bindings: readonly Value[],
  at: Instant,
): Promise<void> {
  const holds = await tx.all<HoldRow>(`SELECT * FROM holds WHERE ${which}`, ...bindings)
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
}
