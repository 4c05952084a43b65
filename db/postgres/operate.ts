/** What an operator does to a database that nodes share, beside the ports: its schema, and its nodes. */
import { type Act, draftAct } from '#domain/act.ts'
import type { Clock } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import type { NodeRecord } from '#domain/node.ts'
import { noteAct } from '../log/acts.ts'
import { expire } from './admission/expire.ts'
import type { Address } from './engine/address.ts'
import { type Database, NO_NODE, openDatabase } from './engine/database.ts'
import { engineOf } from './engine/engine.ts'
import { isServed, livingNodes, readSchema, requireSchema } from './engine/migrate.ts'
import { NEWEST_VERSION } from './engine/versions.ts'
import { readNodes } from './nodes.ts'

export interface StoreRecord {
  readonly schema_version: number
  readonly newest_schema_version: number
  /** The oldest schema whose nodes may serve from it. */
  readonly serves_from: number
  /** Whether this binary may serve from it. */
  readonly is_served: boolean
  /** Those that live, and what they are. */
  readonly nodes: readonly Pick<NodeRecord, 'name' | 'version' | 'schema'>[]
  readonly postgres: string
  /** "on" or more: a charge that was answered outlives the server's end. */
  readonly synchronous_commit: string
  /** Standbys that a commit waits for, and those that follow behind. */
  readonly standbys: readonly { readonly name: string; readonly is_synchronous: boolean }[]
  readonly size_bytes: number
}

export const listNodes = (address: Address, clock: Clock): Promise<readonly NodeRecord[]> =>
  opened(address, clock, async (database) => {
    await requireSchema(database)
    return await readNodes(database)
  })

/** Null where there is none of that name. What it holds is released at once; if it lives it goes on in a new epoch, and what it still settles is charged. */
export const endNode = (
  address: Address,
  clock: Clock,
  name: string,
  who: string,
): Promise<NodeRecord | null> =>
  opened(address, clock, async (database) => {
    await requireSchema(database)
    const node = (await readNodes(database)).find((one) => one.name === name)
    if (node === undefined) return null
    const at = clock.now()
    await expire(database, 'released', [node.epoch], at, [name])
    const act: Act = draftAct(at, who, 'nodes.end', {
      target: name,
      changed: { epoch: node.epoch },
    })
    await engineOf(database).change(() => noteAct(act))
    return { ...node, state: 'ended', in_flight: 0 }
  })

export const readStore = (address: Address, clock: Clock): Promise<StoreRecord> =>
  opened(address, clock, async (database) => {
    const row = await database.get<
      Pick<StoreRecord, 'postgres' | 'synchronous_commit' | 'size_bytes'>
    >(
      `SELECT current_setting('server_version') AS postgres, current_setting('synchronous_commit') AS synchronous_commit,
         pg_database_size(current_database()) AS size_bytes`,
    )
    const standbys = await database.all<StoreRecord['standbys'][number]>(
      "SELECT application_name AS name, coalesce(sync_state, 'sync') IN ('sync', 'quorum') AS is_synchronous FROM pg_stat_replication ORDER BY 1",
    )
    if (row === null) throw new Error('no answer')
    const schema = await readSchema(database)
    return {
      schema_version: schema.version,
      newest_schema_version: NEWEST_VERSION,
      serves_from: schema.servesFrom,
      is_served: isServed(schema),
      nodes: schema.version === 0 ? [] : await livingNodes(database, schema.version),
      ...row,
      standbys,
    }
  })

async function opened<T>(
  address: Address,
  clock: Clock,
  act: (database: Database) => Promise<T>,
): Promise<T> {
  const owner = { node: NO_NODE, epoch: newEpochId(clock.now()) }
  const database = openDatabase(address, { clock, owner, vault: null })
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}
