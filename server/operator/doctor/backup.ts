/** Checks that backups are taken. */
import { DAY_MS } from '#domain/clock.ts'
import { lastBackupAt } from '../backup.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, warning } from './finding.ts'

/** More than a weekend; after a week the timer has probably failed. */
const OLD_DAYS = 7

/** By the log of acts: a backup may have been taken elsewhere since. */
export async function checkBackup(deps: OperatorDeps): Promise<readonly Finding[]> {
  if (deps.dataDir === null) return []
  const at = await lastBackupAt(deps)
  const now = deps.clock.now()
  if (at === null) return [backupWarning('no backup has been taken')]
  const days = Math.floor((now - at) / DAY_MS)
  if (days > OLD_DAYS) return [backupWarning(`no backup in ${days} days`)]
  return [ok('backup', days === 0 ? 'last backup today' : `last backup ${days} days ago`)]
}

const backupWarning = (message: string): Finding =>
  warning('backup', message, 'gatewayctl backup --verify')
