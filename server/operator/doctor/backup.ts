/** Checks that backups are taken. */
import { DAY_MS, later } from '#domain/clock.ts'
import { lastBackupAt } from '../backup.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, warning } from './finding.ts'

/** More than a weekend; after a week the timer has probably failed. */
const OLD_DAYS = 7

/** No warning before there were charges for a day. */
export async function checkBackup(deps: OperatorDeps): Promise<readonly Finding[]> {
  if (deps.dataDir === null) return []
  const at = await lastBackupAt(deps)
  const now = deps.clock.now()
  if (at === null) {
    const until = later(now, -DAY_MS)
    const [charge] = await deps.store.ledger.list({ kind: 'charge', until, limit: 1 })
    return [
      charge === undefined
        ? ok('backup', 'no backup yet')
        : backupWarning('no backup has been taken'),
    ]
  }
  const days = Math.floor((now - at) / DAY_MS)
  if (days > OLD_DAYS) return [backupWarning(`no backup in ${days} days`)]
  return [ok('backup', days === 0 ? 'last backup today' : `last backup ${days} days ago`)]
}

const backupWarning = (message: string): Finding =>
  warning('backup', message, 'gatewayctl backup --verify')
