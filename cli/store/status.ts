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
        const isNewest = record.schema_version === record.newest_schema_version
        printRecord(context, record, String(record.schema_version), [
          ['store', record.store],
          ['PostgreSQL', record.postgres],
          [
            'schema',
            `${record.schema_version}${isNewest ? ' (newest)' : `, this binary works with ${record.newest_schema_version}: gatewayctl store migrate`}`,
          ],
          ['size', bytes(record.size_bytes)],
          ['a commit waits for', waitsFor(record)],
        ])
        if (!isNewest) endWith(EXIT.unhealthy)
      }),
    )

function waitsFor({ synchronous_commit, standbys }: StoreRecord): string {
  if (synchronous_commit === 'off')
    return 'nothing: a crash of the server loses charges (synchronous_commit = on)'
  const names = standbys.filter((one) => one.is_synchronous).map(({ name }) => name)
  return ['its disk', ...names].join(', ')
}
