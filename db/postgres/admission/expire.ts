/** Ends what nobody waits for: the epochs of nodes, and claims of which their node does not know what became of them. */
import type { Instant } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { Database, Sql } from '../engine/database.ts'
import { untilDone } from '../engine/errors.ts'

/**
 * What becomes of what an ended epoch holds, whose places are free at once. `released`: its money too, but what the node still settles
 * is charged, late and once. `void`: nobody is left to settle it.
 */
type Ending = 'released' | 'void'

/** Nothing is admitted by these epochs any more; of these nodes all is ended that they hold, which includes their processes. */
export async function expire(
  sql: Pick<Sql, 'run'>,
  ending: Ending,
  epochs: readonly string[],
  at: Instant,
  nodes: readonly string[] = [],
): Promise<void> {
  await sql.run('SELECT end_epochs(?::text[], ?::text[], ?, ?)', epochs, nodes, at, ending)
}

/** Voids those of these claims that were admitted, and sees to it that the others never are; waits for the database. */
export async function giveUp(
  { lanes }: Database,
  ids: readonly GenerationId[],
  at: Instant,
): Promise<void> {
  await untilDone(() => lanes.settle.run('SELECT give_up(?::text[], ?)', ids, at))
}
