/** The nodes in PostgreSQL, and what they hold: all that one of them learns of the others is read here. */
import { inArray } from 'drizzle-orm'
import type { ActivityEntry } from '#domain/activity.ts'
import { type GenerationId, generationsFrom } from '#domain/id.ts'
import type { Held, NodeRecord, Nodes } from '#domain/node.ts'
import { toActivity } from '../rows/activity-row.ts'
import { activity } from '../rows/tables.ts'
import type { Database, Sql } from './engine/database.ts'
import { MISSED } from './engine/node-life.ts'
import { readServer } from './server-health.ts'

/** Lines that are read at once, while requests wait. */
const LINES_PER_TURN = 250

export const readNodes = (database: Sql): Promise<readonly NodeRecord[]> =>
  database.all<NodeRecord>(
    `SELECT n.name, CASE WHEN e.epoch IS NOT NULL THEN 'ended' WHEN n.beat_at < clock_timestamp() - ${MISSED} THEN 'silent' ELSE 'alive' END AS state,
       coalesce(h.held, 0) AS in_flight, n.epoch, n.version, n.schema,
       to_char(n.beat_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS beat_at, n.machine_ms AS ahead_ms
     FROM nodes n LEFT JOIN ended_epochs e ON e.epoch = n.epoch
       LEFT JOIN (SELECT node, count(*) AS held FROM holds WHERE ended_at IS NULL GROUP BY node) h ON h.node = n.name
     ORDER BY n.name`,
  )

/** `heard` is done with each beat. */
export interface LivingNodes {
  readonly nodes: Nodes
  heard(): Promise<void>
}

export function openNodes(database: Database): LivingNodes {
  let end: ((id: GenerationId) => void) | null = null
  const nodes: Nodes = {
    list: () => readNodes(database),
    server: () => readServer(database),
    held: (most) =>
      database.all<Held>(
        `SELECT h.generation_id AS "generationId", h.request_id AS "requestId", h.key_id AS "keyId", h.model, h.end_user AS "endUser", h.surface, h.session,
           h.admitted_at AS "admittedAt", h.node
         FROM holds h JOIN nodes n ON n.name = h.node WHERE h.ended_at IS NULL ORDER BY h.admitted_at, h.generation_id LIMIT ?`,
        most,
      ),
    async ended({ endedSince, arrivedSince, of, known, most }) {
      const rows = await database.all<{ id: GenerationId }>(
        `SELECT generation_id AS id FROM activity WHERE generation_id >= ? AND started_at + total_ms > ?
         ORDER BY generation_id DESC LIMIT ?`,
        generationsFrom(arrivedSince),
        endedSince,
        known.size + most,
      )
      const found = new Set([...of, ...rows.map(({ id }) => id)])
      const ids = [...found].filter((id) => !known.has(id)).slice(0, most)
      const lines: ActivityEntry[] = []
      for (let first = 0; first < ids.length; first += LINES_PER_TURN) {
        const turn = ids.slice(first, first + LINES_PER_TURN)
        const read = await database.query((drizzle) =>
          drizzle.select().from(activity).where(inArray(activity.generationId, turn)),
        )
        lines.push(...read.map(toActivity))
      }
      return lines.toSorted(
        (one, other) => one.startedAt + one.totalMs - (other.startedAt + other.totalMs),
      )
    },
    async kill(id, at) {
      const asked = await database.run(
        'UPDATE holds SET kill_at = ? WHERE generation_id = ? AND ended_at IS NULL',
        at,
        id,
      )
      return asked > 0
    },
    async isHeld(id) {
      const row = await database.get(
        'SELECT 1 FROM holds WHERE generation_id = ? AND ended_at IS NULL',
        id,
      )
      return row !== null
    },
    heed(told) {
      end = told
    },
  }
  return {
    nodes,
    async heard() {
      if (end === null) return
      const wanted = await database.lanes.life.all<{ id: GenerationId }>(
        'SELECT generation_id AS id FROM holds WHERE node = ? AND kill_at IS NOT NULL AND ended_at IS NULL',
        database.owner.node,
      )
      for (const { id } of wanted) end(id)
    },
  }
}
