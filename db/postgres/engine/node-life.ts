/** The life of a node: it takes an epoch, beats while it lives, and ends those that have fallen silent. */
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { newEpochId } from '#domain/id.ts'
import { expire } from '../admission/expire.ts'
import type { Database } from './database.ts'
import { keepTime, STORE_NOW } from './store-time.ts'
import { NEWEST_VERSION } from './versions.ts'

const BEAT_MS = 1_000
/** By the clock of the database, so that no node's own matters. */
const SILENT = "interval '10 seconds'"
/** A node that lives beats in this time. */
const LIVES_MS = 3 * BEAT_MS
export const MISSED = `interval '${LIVES_MS} milliseconds'`
/** Of a row of `nodes`. */
export const LIVES = `beat_at > clock_timestamp() - ${SILENT} AND epoch NOT IN (SELECT epoch FROM ended_epochs)`
/** How far a node's clock is ahead of that of the database, in milliseconds. */
const AHEAD = `? - ${STORE_NOW}`
/** No call runs for so long. */
const GIVEN_UP_MS = HOUR_MS

export interface NodeLife {
  /** Takes a new epoch where this one was ended. */
  rejoin(): Promise<void>
  /** Nobody waits for this node any more: what it holds is void. */
  leave(): Promise<void>
}

/** Of a process that only looks, or makes one change. */
export const NO_LIFE: NodeLife = { rejoin: async () => {}, leave: async () => {} }

interface NodeRow {
  readonly epoch: string
  readonly beat_at: string
}

const readNode = (database: Database): Promise<NodeRow | null> =>
  database.get<NodeRow>(
    `SELECT epoch, beat_at::text FROM nodes WHERE name = ? AND ${LIVES}`,
    database.owner.node,
  )

/** @throws store_unavailable where another process is this node */
async function requireOnlyOne(database: Database): Promise<void> {
  const before = await readNode(database)
  if (before === null) return
  await Bun.sleep(LIVES_MS)
  const now = await readNode(database)
  if (now === null || (now.epoch === before.epoch && now.beat_at === before.beat_at)) return
  throw isTaken(database.owner.node)
}

const isTaken = (node: string): GatewayError =>
  new GatewayError('store_unavailable', `another process serves as the node "${node}"`, {
    permanent: true,
    hint: 'give this one a name of its own: GATEWAY_NODE=NAME; gatewayctl nodes list shows those that are',
  })

/** Ends what an earlier epoch of this node has left; what its courier had in hand is due again. */
export async function join(database: Database, version: string): Promise<void> {
  await requireOnlyOne(database)
  const { node, epoch } = database.owner
  const before = await database.all<{ epoch: string }>(
    'SELECT epoch FROM nodes WHERE name = ?',
    node,
  )
  await database.run(
    `INSERT INTO nodes (name, epoch, version, schema, ahead_ms) VALUES (?, ?, ?, ${NEWEST_VERSION}, ${AHEAD})
     ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, version = excluded.version, schema = excluded.schema, ahead_ms = excluded.ahead_ms,
       beat_at = clock_timestamp(), beating_since = clock_timestamp()`,
    node,
    epoch,
    version,
    database.clock.now(),
  )
  const epochs = before.map((row) => row.epoch)
  await expire(database, 'released', epochs, database.clock.now(), [node])
  await endLeases(database, epochs)
}

const endLeases = (database: Database, epochs: readonly string[]): Promise<number> =>
  database.run(
    'UPDATE outbox SET lease_until = NULL, leased_by = NULL WHERE lease_until IS NOT NULL AND leased_by = ANY (?::text[])',
    epochs,
  )

/** Beats from now on. What a beat cannot do the next one does. `beaten` are done with each. */
export function startLife(database: Database, beaten: readonly (() => Promise<void>)[]): NodeLife {
  const { life } = database.lanes
  let rejoining: Promise<void> | null = null
  let beating: Promise<void> | null = null

  const rejoin = async (): Promise<void> => {
    const { node, epoch } = database.owner
    const ended = await life.get('SELECT 1 FROM ended_epochs WHERE epoch = ?', epoch)
    if (ended === null) return
    const owner = { node, epoch: newEpochId(database.clock.now()) }
    const taken = await life.run(
      'UPDATE nodes SET epoch = ?, beat_at = clock_timestamp(), beating_since = clock_timestamp() WHERE name = ? AND epoch = ?',
      owner.epoch,
      node,
      epoch,
    )
    if (taken === 0) throw isTaken(node)
    database.own(owner)
  }
  const rejoinOnce = (): Promise<void> => {
    rejoining ??= rejoin().finally(() => {
      rejoining = null
    })
    return rejoining
  }

  const beat = async (): Promise<void> => {
    const machineMs = await keepTime(life, database.clock)
    const { node, epoch } = database.owner
    await life.run(
      `UPDATE nodes SET beat_at = clock_timestamp(),
         beating_since = CASE WHEN beat_at < clock_timestamp() - ${MISSED} THEN clock_timestamp() ELSE beating_since END,
         ahead_ms = ${AHEAD}, machine_ms = ?
       WHERE name = ? AND epoch = ?`,
      database.clock.now(),
      machineMs,
      node,
      epoch,
    )
    await rejoinOnce()
    await endSilent(database, database.clock.now())
    for (const act of beaten) await act()
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
      const gone = await database.run('DELETE FROM nodes WHERE name = ? AND epoch = ?', node, epoch)
      // Another process may have become this node.
      const nodes = gone === 0 ? [] : [node]
      await expire(database, 'void', [epoch], database.clock.now(), nodes)
      await endLeases(database, [epoch])
    },
  }
}

/** A node that has beaten all the while ends those that have not for so long. */
async function endSilent(database: Database, at: Instant): Promise<void> {
  const { life } = database.lanes
  await life.run('DELETE FROM given_up WHERE at < ?', later(at, -GIVEN_UP_MS))
  const silent = await life.all<{ epoch: string }>(
    `SELECT epoch FROM end_silent(?, ?, ${SILENT}) AS epoch`,
    database.owner.epoch,
    at,
  )
  if (silent.length === 0) return
  await endLeases(
    database,
    silent.map(({ epoch }) => epoch),
  )
}
