/** The catalogue in SQLite: held in memory, because every request looks at it, and read again after a change. */
import type { Catalogue } from '#domain/catalogue.ts'
import { changeCatalogue, type HeldCatalogue, readCatalogue } from '../../catalogue/held.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'

export function openCatalogue({ database, commit }: Connection): HeldCatalogue {
  const runNow = prepareRunNow(database)
  let held: Catalogue | null = null
  const current = (): Catalogue => {
    held ??= runNow(readCatalogue())
    return held
  }
  return {
    current,
    async refresh() {},
    async change(act, expected, write, seen) {
      // Not first inside the transaction, which may be rolled back.
      const before = current()
      if (expected !== undefined && expected !== before.version) return 'stale'
      return await commit.commitDurably(
        () => runNow(changeCatalogue(before, act, write, seen)),
        () => {
          held = null
        },
      )
    },
  }
}
