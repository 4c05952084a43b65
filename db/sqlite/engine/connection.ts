/** What every table's file works with: one connection, its committer and the clock. */
import type { Database } from 'bun:sqlite'
import type { Clock } from '#domain/clock.ts'
import type { Vault } from '../../vault.ts'
import { type Disk, NO_DISK } from './disk.ts'
import { type GroupCommit, startGroupCommit } from './group-commit.ts'
import { type LateLines, openLateLines } from './late-lines.ts'
import { type LogCheckpointer, NO_CHECKPOINTER } from './log-checkpoint.ts'
import type { LogSync } from './log-sync.ts'

export interface Connection {
  readonly database: Database
  readonly commit: GroupCommit
  readonly clock: Clock
  /** Null when no master key was given: credentials can then be neither kept nor read. */
  readonly vault: Vault | null
  readonly checkpointer: LogCheckpointer
  /** Whether a charge waits for the disk, not only for the operating system. */
  readonly syncCharges: boolean
  /** Whoever writes a line of the log notes it there, for whoever has added up the lines behind it (`log/usage-days.ts`). */
  readonly lateLines: LateLines
}

export const connect = (
  database: Database,
  logSync: LogSync,
  rest: Pick<Connection, 'clock' | 'vault' | 'syncCharges'>,
  checkpointer: LogCheckpointer = NO_CHECKPOINTER,
  disk: Disk = NO_DISK,
): Connection => {
  const commit = startGroupCommit(database, logSync, disk)
  return { database, commit, checkpointer, lateLines: openLateLines(commit), ...rest }
}
