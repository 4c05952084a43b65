/** What every table's file works with: one connection, its committer and the clock. */
import type { Database } from 'bun:sqlite'
import type { Clock } from '#domain/clock.ts'
import type { Vault } from '../vault.ts'
import { type Disk, NO_DISK } from './disk.ts'
import { type GroupCommit, startGroupCommit } from './group-commit.ts'
import { type LogFold, NO_LOG_FOLD } from './log-fold.ts'
import type { LogSync } from './log-sync.ts'

export interface Connection {
  readonly database: Database
  readonly commit: GroupCommit
  readonly clock: Clock
  /** Null when no master key was given: credentials can then be neither kept nor read. */
  readonly vault: Vault | null
  readonly logFold: LogFold
  /** Whether a charge waits for the disk, not only for the operating system. */
  readonly syncCharges: boolean
}

export const connect = (
  database: Database,
  logSync: LogSync,
  rest: Pick<Connection, 'clock' | 'vault' | 'syncCharges'>,
  logFold: LogFold = NO_LOG_FOLD,
  disk: Disk = NO_DISK,
): Connection => ({
  database,
  commit: startGroupCommit(
    database,
    {
      ...logSync,
      dirty() {
        logSync.dirty()
        logFold.dirty()
      },
    },
    disk,
  ),
  logFold,
  ...rest,
})
