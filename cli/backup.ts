/** `gatewayctl backup`: a consistent copy of the database while it serves, and restoring one. */
import { renderAddress } from '#db/postgres/engine/address.ts'
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { CommandError, EXIT, usageError } from './exit.ts'
import { readCount } from './flags/read-value.ts'
import { readSharedStore } from './settings/shared-store.ts'

interface Flags {
  readonly verify?: boolean
  readonly keep?: string
  readonly restore?: string
  readonly confirm?: string
}

export const mount: Mount = (root) =>
  root
    .command('backup')
    .description('back up the database while the gateway serves, or restore a backup (--restore)')
    .argument('[file]', 'a new file, or a directory; default: backups/ in the data directory')
    .option('--verify', 'check the whole copy and recompute every sum in it')
    .option('--keep <n>', 'in a directory: keep only the newest n backups made there')
    .option('--restore <file>', 'replace the database with this copy; stop the server first')
    .option(
      '--confirm <name>',
      'confirm --restore with the name of the file it replaces: gateway.db',
    )
    .action(
      action(async (context, file: string | undefined, flags: Flags) => {
        refuseShared(context)
        const { restore, confirm, verify, keep } = flags
        if (restore === undefined) {
          if (confirm !== undefined) throw usageError('--confirm requires --restore')
          const { takeBackup } = await import('./backup/take.ts')
          const options = {
            verify: verify === true,
            keep: keep === undefined ? null : readCount('--keep', keep),
          }
          return await takeBackup(context, file, options)
        }
        if (file !== undefined || keep !== undefined || verify) {
          throw usageError(
            '--restore can be combined only with --confirm',
            `gatewayctl backup --restore ${shellWord(restore)} --confirm gateway.db`,
          )
        }
        const { restoreBackup } = await import('./backup/restore.ts')
        await restoreBackup(context, restore, confirm)
      }),
    )

/** @throws CommandError 1: a database that nodes share has backups of its own */
function refuseShared(context: Context): void {
  const shared = readSharedStore(context)
  if (shared === null) return
  throw new CommandError(
    'shared_store',
    EXIT.failed,
    'the store is in PostgreSQL, which has its own backups: pg_dump, pg_basebackup',
    `pg_dump -Fc -f gateway.dump ${shellWord(renderAddress(shared.address))}`,
  )
}
