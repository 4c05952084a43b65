/** `gatewayctl store status`: a PostgreSQL that nodes share, its schema, and what a commit waits for. */
import { renderAddress } from '#db/postgres/engine/address.ts'
import type { StoreRecord } from '#db/postgres/operate.ts'
import { action, type Mount } from '../action.ts'
import { EXIT, endWith } from '../exit.ts'
import { printRecord } from '../terminal/output.ts'
import { bytes } from '../terminal/relative-time.ts'
import { requireShared } from './require-shared.ts'

/** What `--json` prints. */
export interface StoreStatusRecord extends StoreRecord {
  readonly store: string
}

export const mount: Mount = (store) =>
  store
    .command('status')
    .description('show the PostgreSQL that nodes share: schema, size, what a commit waits for')
    .action(
      action(async (context) => {
        const { address } = requireShared(context)
        const { readStore } = await import('#db/postgres/operate.ts')
        const found = await readStore(address, context.clock)
        const record: StoreStatusRecord = { store: renderAddress(address), ...found }
        printRecord(context, record, String(record.schema_version), [
          ['store', record.store],
          ['PostgreSQL', record.postgres],
          ['schema', schemaOf(record)],
          ['nodes', record.nodes.map(nameNode).join('   ') || 'none'],
          ['size', bytes(record.size_bytes)],
          ['a commit waits for', waitsFor(record)],
        ])
        if (!record.is_served) endWith(EXIT.unhealthy)
      }),
    )

const nameNode = ({ name, version, schema }: StoreRecord['nodes'][number]): string =>
  `${name} (${version}, schema ${schema})`

function schemaOf(record: StoreRecord): string {
  const { schema_version: schema, newest_schema_version: own, serves_from, is_served } = record
  if (schema === own && is_served) return `${schema} (newest)`
  if (schema < own) return `${schema}, this binary works with ${own}: gatewayctl store migrate`
  if (serves_from <= own && !is_served)
    return `${schema}, without the functions of this binary: gatewayctl store migrate`
  return is_served
    ? `${schema}, from which this binary, of ${own}, may still serve`
    : `${schema}, which serves binaries from ${serves_from} on, and this is one of ${own}`
}

function waitsFor({ synchronous_commit, standbys }: StoreRecord): string {
  if (synchronous_commit === 'off')
    return 'nothing: a crash of the server loses charges (synchronous_commit = on)'
  const names = standbys.filter((one) => one.is_synchronous).map(({ name }) => name)
  return ['its disk', ...names].join(', ')
}
