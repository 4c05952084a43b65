/** Checks the database server that nodes share, and how far their clocks are from its own. */
import { toldOf } from '#domain/errors.ts'
import type { NodeRecord, ServerHealth } from '#domain/node.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** While one is open, old versions of busy rows pile up behind it. */
const LONG_MS = 30_000
const OFF_MS = 250

export async function checkServer({
  store: { nodes },
}: Pick<OperatorDeps, 'store'>): Promise<readonly Finding[]> {
  return nodes === undefined ? [] : judgeServer(await nodes.server(), await nodes.list())
}

export const judgeServer = (
  health: ServerHealth,
  nodes: readonly NodeRecord[],
): readonly Finding[] => [
  ...(health.onlyRead === null
    ? []
    : [problem('writable', toldOf(health.onlyRead), health.onlyRead.details.hint)]),
  judgeOldest(health),
  ...judgeClocks(health, nodes),
  judgeRights(health),
  ...judgeCommits(health),
]

const seconds = (ms: number): string => `${(Math.abs(ms) / 1_000).toFixed(1)} s`

function judgeOldest({ oldest }: ServerHealth): Finding {
  if (oldest === null || oldest.ms < LONG_MS)
    return ok('transactions', 'no transaction is open for long')
  const { pid, who, ms } = oldest
  return warning(
    'transactions',
    `a transaction of ${who} is open for ${seconds(ms)}: requests become slower while it is`,
    `end it where it was begun, or in psql: SELECT pg_terminate_backend(${pid})`,
  )
}

function judgeClocks({ aheadMs }: ServerHealth, nodes: readonly NodeRecord[]): readonly Finding[] {
  const clocks = [
    ['this machine', aheadMs] as const,
    ...nodes.map(({ name, ahead_ms }) => [`node ${name}`, ahead_ms] as const),
  ]
  const off = clocks.filter(([, ms]) => Math.abs(ms) >= OFF_MS)
  if (off.length === 0) return [ok('clock', 'the clocks are those of the database')]
  return off.map(([whose, ms]) =>
    warning(
      'clock',
      `the clock of ${whose} is ${seconds(ms)} ${ms > 0 ? 'ahead of' : 'behind'} the database's, by which the gateway goes`,
      'timedatectl set-ntp true, there and at the database',
    ),
  )
}

const MOST_RIGHTS = 5

function judgeRights({ lacking }: ServerHealth): Finding {
  if (lacking.length === 0) return ok('rights', 'the role has the rights that it needs')
  const more = lacking.length > MOST_RIGHTS ? ` and ${lacking.length - MOST_RIGHTS} more` : ''
  return problem(
    'rights',
    `the role of GATEWAY_STORE lacks ${lacking.slice(0, MOST_RIGHTS).join(', ')}${more}`,
    'gatewayctl store migrate, as the role that owns the tables: it grants them to the role gateway',
  )
}

function judgeCommits({ isDurable, named, attached }: ServerHealth): readonly Finding[] {
  if (!isDurable) {
    return [
      problem(
        'commits',
        'a commit waits for no disk: a crash of the database loses charges that were answered',
        'in psql: ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()',
      ),
    ]
  }
  if (named === '') {
    return [
      warning(
        'replication',
        'no synchronous standby is named: with the disk of the database, charges that were answered are lost',
        "attach a standby, then ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (NAME, NAME)'",
      ),
    ]
  }
  if (attached > 0) return [ok('replication', `a commit waits for ${named}, attached: ${attached}`)]
  return [
    problem(
      'replication',
      `commits wait for ${named}, of which none is attached`,
      'start the standby, or take its name out of synchronous_standby_names',
    ),
  ]
}
