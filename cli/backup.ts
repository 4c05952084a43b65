/** `gatewayctl backup`: a consistent copy of everything while it serves, and the way back from one. */
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from './action.ts'
import { usageError } from './exit.ts'
import { readCount } from './flags/read-value.ts'

interface Flags {
  readonly verify?: boolean
  readonly keep?: string
  readonly restore?: string
  readonly confirm?: string
}

export const mount: Mount = (root) =>
  root
    .command('backup')
    .description(
      'copy the whole database while it serves (without --restore), or put a copy in its place',
    )
    .argument('[file]', 'a new file, or a directory; default: backups/ in the data directory')
    .option('--verify', 'look through the whole copy, and add every sum of it up again')
    .option('--keep <n>', 'in a directory: remove all but the newest n that were made there')
    .option('--restore <file>', 'put this copy in the place of the database; stop the server first')
    .option('--confirm <name>', 'the name of what --restore replaces: gateway.db')
    .action(
      action(async (context, file: string | undefined, flags: Flags) => {
        const { restore, confirm, verify, keep } = flags
        if (restore === undefined) {
          if (confirm !== undefined) throw usageError('--confirm goes with --restore')
          const { takeBackup } = await import('./backup/take.ts')
          const wishes = {
            verify: verify === true,
            keep: keep === undefined ? null : readCount('--keep', keep),
          }
          return await takeBackup(context, file, wishes)
        }
        if (file !== undefined || keep !== undefined || verify) {
          throw usageError(
            '--restore goes with --confirm alone',
            `gatewayctl backup --restore ${shellWord(restore)} --confirm gateway.db`,
          )
        }
        const { restoreBackup } = await import('./backup/restore.ts')
        await restoreBackup(context, restore, confirm)
      }),
    )
