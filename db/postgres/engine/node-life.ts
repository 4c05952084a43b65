/** The life of a node: it takes an epoch, beats while it lives, and ends those that have fallen silent. */
import type { Instant } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import { expire } from '../admission/expire.ts'
import type { Database } from './database.ts'

const BEAT_MS = 1_000
/** By the clock of the database, so that no node's own matters. */
const SILENT = "interval '10 seconds'"

export interface NodeLife {
  /** Takes a new epoch where this one was ended: its requests in progress are void. */
  rejoin(): Promise<void>
  /** Nobody waits for this node any more: what it holds is void at once. */
  leave(): Promise<void>
}

/** Voids what an earlier epoch of this node has left; what its courier had in hand is due again. */
export async function join(database: Database): Promise<void> {
  const { node, epoch } = database.owner
  const before = await database.all<{ epoch: string }>(
    'SELECT epoch FROM nodes WHERE name = ?',
    node,
  )
  await database.run(
    `INSERT INTO nodes (name, epoch) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, beat_at = clock_timestamp()`,
    node,
    epoch,
  )
  const epochs = before.map((row) => row.epoch)
  await expire(database, epochs, database.clock.now(), node)
  await endLeases(database, epochs)
}

const endLeases = (database: Database, epochs: readonly string[]): Promise<number> =>
  database.run(
    'UPDATE outbox SET lease_until = NULL, leased_by = NULL WHERE leased_by = ANY (?::text[])',
    epochs,
  )

/** Beats from now on. What a beat cannot do the next one does. */
export function startLife(database: Database): NodeLife {
  let rejoining: Promise<void> | null = null
  let beating: Promise<void> | null = null

  const rejoin = async (): Promise<void> => {
    const { node, epoch } = database.owner
    const ended = await database.get('SELECT 1 FROM ended_epochs WHERE epoch = ?', epoch)
    if (ended === null) return
    const owner = { node, epoch: newEpochId(database.clock.now()) }
    await database.run(
      'UPDATE nodes SET epoch = ?, beat_at = clock_timestamp() WHERE name = ? AND epoch = ?',
      owner.epoch,
      node,
      epoch,
    )
    database.own(owner)
  }
  const rejoinOnce = (): Promise<void> => {
    rejoining ??= rejoin().finally(() => {
      rejoining = null
    })
    return rejoining
  }

  const beat = async (): Promise<void> => {
    const { node, epoch } = database.owner
    await database.run(
      'UPDATE nodes SET beat_at = clock_timestamp() WHERE name = ? AND epoch = ?',
      node,
      epoch,
    )
    await rejoinOnce()
    await endSilent(database, database.clock.now())
  }
  const timer = setInterval(() => {
    beating ??= beat()
      .catch(() => {})
      .finally(() => {
        beating = null
      })
  }, BEAT_MS)
  // It keeps no process alive.
  timer.unref()

  return {
    rejoin: rejoinOnce,
    async leave() {
      clearInterval(timer)
      await beating
      const { node, epoch } = database.owner
      await expire(database, [epoch], database.clock.now())
      await endLeases(database, [epoch])
      await database.run('DELETE FROM nodes WHERE name = ? AND epoch = ?', node, epoch)
    },
  }
}

/** Any node ends one that has not beaten for so long. */
async function endSilent(database: Database, at: Instant): Promise<void> {
  const silent = await database.all<{ epoch: string }>(
    `SELECT epoch FROM nodes WHERE beat_at < clock_timestamp() - ${SILENT}
       AND epoch NOT IN (SELECT epoch FROM ended_epochs)`,
  )
  if (silent.length === 0) return
  const epochs = silent.map((row) => row.epoch)
  await expire(database, epochs, at)
  await endLeases(database, epochs)
}
