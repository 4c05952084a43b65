/** Checks the serving processes: that all of them answer, and the file descriptors of this one. */
import { readdir, readFile } from 'node:fs/promises'
import { openFilesLimit } from '#runtime/open-files.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** A request needs two: for its client and for its provider. */
const LOW_LIMIT = 4_096
const MAX_SHARE = 0.9

export async function checkProcesses({ live }: OperatorDeps): Promise<readonly Finding[]> {
  const stuck = live?.stuckProcesses() ?? 0
  if (stuck === 0) return []
  const message = `processes that serve and have not answered for 10 s: ${stuck}; after 30 s each is ended, and another is started`
  return [
    problem(
      'processes',
      message,
      'where it happens again, report what runs then: gatewayctl activity list',
    ),
  ]
}

/** Only for a running gateway, on Linux. */
export async function checkDescriptors({ live }: OperatorDeps): Promise<readonly Finding[]> {
  if (live === null || process.platform !== 'linux') return []
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => null)
  const names = await readdir('/proc/self/fd').catch(() => null)
  const most = openFilesLimit(limits ?? '') ?? Number.POSITIVE_INFINITY
  return [judgeDescriptors(names?.length ?? null, most)]
}

/** `used` is null when no descriptor was left to count them with. */
export function judgeDescriptors(used: number | null, most: number): Finding {
  const next = 'raise the limit of the service: LimitNOFILE=65536'
  if (used === null || used > most * MAX_SHARE) {
    const message = `${used ?? 'all'} of ${most} descriptors are in use: new connections wait until others close`
    return problem('descriptors', message, next)
  }
  const message = `${used} of ${most} descriptors in use`
  return most < LOW_LIMIT ? warning('descriptors', message, next) : ok('descriptors', message)
}
