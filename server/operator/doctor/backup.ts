/** Whether a loss of the disk would be a loss of the gateway: when the last backup was taken. */
import { DAY_MS, later } from '#domain/clock.ts'
import { lastBackupAt } from '../backup.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Weekends pass; a week without one is a timer that has died. */
const OLD_DAYS = 7

/** Nothing to say on the first day of charges. */
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
        : backupWarning('no backup was ever taken'),
    ]
  }
  const days = Math.floor((now - at) / DAY_MS)
  if (days > OLD_DAYS) return [backupWarning(`no backup in ${days} days`)]
  return [ok('backup', days === 0 ? 'last backup today' : `last backup ${days} days ago`)]
}

const backupWarning = (message: string): Finding =>
  warning('backup', message, 'gatewayctl backup --verify')
