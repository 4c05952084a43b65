/** Checks the store: integrity, schema, ledger sums, retention and holds. */
import { renderInstant } from '#domain/clock.ts'
import type { StoreTrouble } from '#domain/errors.ts'
import { dollars, renderUsd } from '#domain/money.ts'
import type { StoreHealth } from '#domain/store.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** Integrity, the newest schema, and whether commits succeed. */
export async function checkStore({ store, dataDir }: OperatorDeps): Promise<readonly Finding[]> {
  const health = await store.health({ checkIntegrity: true })
  const damage = health.integrityFindings ?? []
  return [
    damage.length === 0
      ? ok('database', 'database integrity')
      : problem(
          'database',
          `the database is damaged: ${damage.slice(0, 3).join('; ')}`,
          'stop the gateway, then gatewayctl backup --restore FILE',
        ),
    ...judgeSchema(health),
    ...(health.trouble === null ? [] : [describeTrouble(health.trouble, dataDir ?? '.')]),
  ]
}

const MAX_PARTS = 5

function firstOf(parts: readonly string[]): string {
  const more = parts.length - MAX_PARTS
  return parts.slice(0, MAX_PARTS).join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** Compares the objects too: the version does not show a dropped trigger, and the ledger depends on triggers. */
function judgeSchema(health: StoreHealth): readonly Finding[] {
  const { schemaVersion, newestSchemaVersion, schemaFindings } = health
  const found = schemaFindings ?? []
  const wrong = firstOf(
    found.flatMap(({ what, is }) => (is === 'added' ? [] : [`${what} is ${is}`])),
  )
  const added = firstOf(found.flatMap(({ what, is }) => (is === 'added' ? [what] : [])))
  return [
    schemaVersion === newestSchemaVersion
      ? ok('schema', `schema ${schemaVersion} (newest)`)
      : problem('schema', `schema ${schemaVersion}, newest is ${newestSchemaVersion}`),
    ...(wrong === ''
      ? []
      : [
          problem(
            'schema',
            `the schema differs from the one gatewayctl created: ${wrong}`,
            'stop the gateway, then gatewayctl backup --restore FILE with an earlier backup',
          ),
        ]),
    ...(added === ''
      ? []
      : [
          warning(
            'schema',
            `the schema has objects that gatewayctl did not create: ${added}`,
            'drop them unless they are needed; an upgrade may fail because of them',
          ),
        ]),
  ]
}

/** Requests are refused until the trouble is over, then served again without a restart. */
function describeTrouble(trouble: StoreTrouble, dataDir: string): Finding {
  const said: Readonly<Record<StoreTrouble, readonly [message: string, next: string]>> = {
    full: ['its disk is full, or nearly', `df -h ${dataDir}`],
    read_only: ['its disk or its files are read-only', `ls -l ${dataDir}; findmnt -T ${dataDir}`],
    damaged: ['its database is damaged', 'stop the gateway, then gatewayctl backup --restore FILE'],
    moved: [
      `a file of its database was moved, removed or replaced in ${dataDir}`,
      'put it back; or stop the gateway, then gatewayctl backup --restore FILE',
    ],
    locked: ['another program holds its database', `fuser -v ${dataDir}/gateway.db`],
    failing: ['its disk fails', 'dmesg | tail'],
  }
  const [message, next] = said[trouble]
  return problem('writable', `the gateway refuses requests: ${message}`, next)
}

/** Whether each balance and each key's daily sum equals the sum of the ledger, to the nano-dollar. */
export async function checkLedger({ store }: OperatorDeps): Promise<readonly Finding[]> {
  const { balances, findings, found } = await store.audit()
  const elsewhere = found - findings.filter(({ what }) => what === 'balance').length
  return [
    ...balances.map(({ accountName, balance, ledgerSum }) =>
      balance === ledgerSum
        ? ok(
            'ledger',
            `account ${accountName}: balance ${dollars(renderUsd(balance))} is the sum of its ledger`,
          )
        : problem(
            'ledger',
            `account ${accountName}: balance ${dollars(renderUsd(balance))} but the sum of its ledger is ${dollars(renderUsd(ledgerSum))}`,
          ),
    ),
    ...(elsewhere === 0
      ? []
      : [problem('ledger', `${elsewhere} other sums do not match the ledger`, 'gatewayctl audit')]),
  ]
}

/** Reports since when the log is complete; older requests are removed when a retention is set. */
export async function checkLog({ store }: OperatorDeps): Promise<readonly Finding[]> {
  const since = await store.activity.keptSince()
  return [
    ok(
      'log',
      since === null
        ? 'nothing has been removed from the log of requests'
        : `the log of requests is complete since ${renderInstant(since)}; what ended before is no longer kept`,
    ),
  ]
}

/** A hold without a running server would block that money for ever. */
export async function checkHolds({ store, live }: OperatorDeps): Promise<readonly Finding[]> {
  const { openHolds } = await store.health({ checkIntegrity: false })
  // Where nodes share it, those of one that is gone are ended by the others.
  if (live !== null || store.nodes !== undefined)
    return [ok('holds', `${openHolds} requests in progress hold money`)]
  return [
    openHolds === 0
      ? ok('holds', 'no hold is open')
      : problem('holds', `${openHolds} holds are open although no gateway is running`),
  ]
}
