/** The catalogue in PostgreSQL: held in memory by each node, and read again after a change of this one, or when a claim is stale. */
import {
  changeCatalogue,
  type HeldCatalogue,
  readCatalogue,
  readVersion,
} from '../../catalogue/held.ts'
import type { Database } from '../engine/database.ts'
import { send } from '../engine/engine.ts'

/** A change that is refused as made for another version. */
const STALE = Symbol('stale')

export async function openCatalogue(database: Database): Promise<HeldCatalogue> {
  let held = await send(database, readCatalogue())
  const refresh = async (): Promise<void> => {
    if ((await send(database, readVersion())) > held.version) await take()
  }
  const take = async (): Promise<void> => {
    const read = await database.snapshot((tx) => send(tx, readCatalogue()))
    // Another read may have been faster.
    if (read.version > held.version) held = read
  }
  return {
    current: () => held,
    refresh,
    async change(act, expected, write, seen) {
      try {
        const written = await database.change(async (tx) => {
          const isHeld = (await send(tx, readVersion())) === held.version
          const before = isHeld ? held : await send(tx, readCatalogue())
          if (expected !== undefined && expected !== before.version) throw STALE
          return await send(tx, changeCatalogue(before, act, write, seen))
        })
        await take()
        return written
      } catch (error) {
        if (error !== STALE) throw error
        await refresh()
        return 'stale'
      }
    },
  }
}
