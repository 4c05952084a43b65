/** Where a replaced database is kept, and the lock that keeps gateways out meanwhile. */
import { join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { lockDirectory } from '#db/sqlite/engine/lock.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'

/** `gateway.db.replaced-20261121T163649123Z`, beside the database. */
export const asideOf = ({ dataDir, clock }: Context): string =>
  join(dataDir, `${DATABASE_FILE}.replaced-${renderInstant(clock.now()).replace(/[-:.]/g, '')}`)

/** Returns the function that releases the lock. @throws CommandError 1 while a gateway or a command holds the directory */
export function lockStopped(dataDir: string): () => void {
  try {
    return lockDirectory(dataDir)
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
    throw new CommandError(
      'in_use',
      EXIT.failed,
      `a gateway is using ${dataDir}: stop it first`,
      'systemctl stop gatewayctl, or Ctrl-C in its terminal',
    )
  }
}
