/** The life of a node: it takes an epoch, beats while it lives, and ends those that have fallen silent. */
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type EpochId, newEpochId } from '#domain/id.ts'
import { expire } from '../admission/expire.ts'
import type { Database, Sql } from './database.ts'
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

/** A process that was killed may leave a beat that is written late: one that lives is seen to beat twice. */
const BEATS_OF_LIFE = 2

/** @throws store_unavailable where another process is this node */
async function requireOnlyOne(database: Database): Promise<void> {
  let before = await readNode(database)
  for (let beats = 0; beats < BEATS_OF_LIFE && before !== null; beats++) {
    await Bun.sleep(LIVES_MS)
    const now = await readNode(database)
    if (now === null || (now.epoch === before.epoch && now.beat_at === before.beat_at)) return
    before = now
  }
  if (before !== null) throw isTaken(database.owner.node)
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

const endLeases = (sql: Sql, epochs: readonly string[]): Promise<number> =>
  sql.run(
    'UPDATE outbox SET lease_until = NULL, leased_by = NULL WHERE lease_until IS NOT NULL AND leased_by = ANY (?::text[])',
    epochs,
  )

/** While it is done, whoever asks for it again waits for that. */
function oneAtATime(act: () => Promise<void>): () => Promise<void> {
  let acting: Promise<void> | null = null
  return () => {
    acting ??= act().finally(() => {
      acting = null
    })
    return acting
  }
}

/** Beats from now on. What a beat cannot do the next one does. `beaten` are done after each, and no beat waits for them. */
export function startLife(database: Database, beaten: readonly (() => Promise<void>)[]): NodeLife {
  const { life } = database.lanes
  let beating = Promise.resolve()
  /** The epoch that it takes; it is written already where the answer was lost. */
  let next: EpochId | null = null

  const rejoin = oneAtATime(async () => {
    const { node, epoch } = database.owner
    const ended = await life.get('SELECT 1 FROM ended_epochs WHERE epoch = ?', epoch)
    if (ended === null) return
    next ??= newEpochId(database.clock.now())
    const taken = await life.run(
      `UPDATE nodes SET epoch = $next, beat_at = clock_timestamp(), beating_since = clock_timestamp()
       WHERE name = $node AND epoch IN ($epoch, $next)`,
      { node, epoch, next },
    )
    if (taken === 0) throw isTaken(node)
    database.own({ node, epoch: next })
    next = null
  })

  const beat = oneAtATime(async () => {
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
    await rejoin()
    await endSilent(database, database.clock.now())
  })
  const act = oneAtATime(async () => {
    for (const one of beaten) await one()
  })
  const timer = setInterval(() => {
    beating = beat()
      .then(() => void act().catch(() => {}))
      .catch(() => {})
  }, BEAT_MS)
  // It keeps no process alive.
  timer.unref()

  return {
    rejoin,
    async leave() {
      clearInterval(timer)
      await beating
      const { node, epoch } = database.owner
      // Both or neither: what a node holds that is in no list would be ended by nobody. Another process may have become this node.
      await database.run(
        `WITH gone AS (DELETE FROM nodes WHERE name = $node AND epoch = $epoch RETURNING name)
         SELECT end_epochs(ARRAY[$epoch], ARRAY(SELECT name FROM gone), $at, 'void')`,
        { node, epoch, at: database.clock.now() },
      )
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
    life,
    silent.map(({ epoch }) => epoch),
  )
}
