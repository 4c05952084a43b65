/** The address of a store that nodes share, for the commands that are of one alone. */
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { readSharedStore, type SharedStore } from '../settings/shared-store.ts'

/** @throws CommandError 1 where the store is in the data directory */
export function requireShared(context: Context): SharedStore {
  const shared = readSharedStore(context)
  if (shared !== null) return shared
  throw new CommandError(
    'not_shared',
    EXIT.failed,
    `the store is in ${context.dataDir}: one process serves it, and there are no nodes`,
    'GATEWAY_STORE=postgres://user@host:5432/database for a store that several nodes share (docs/scale.md)',
  )
}
