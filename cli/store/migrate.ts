/** `gatewayctl store migrate`: brings a PostgreSQL that nodes share to the schema of this binary. */
import { renderAddress } from '#db/postgres/engine/address.ts'
import { action, type Mount } from '../action.ts'
import { clean } from '../terminal/clean.ts'
import { print, printJson } from '../terminal/output.ts'
import { requireShared } from './require-shared.ts'

/** What `--json` prints. */
export interface MigrationRecord {
  readonly store: string
  readonly from: number
  readonly to: number
  /** Whether it had not the functions of this binary, as where another build of the same schema migrated it. */
  readonly made_functions: boolean
}

export const mount: Mount = (store) =>
  store
    .command('migrate')
    .description('create or upgrade the tables in PostgreSQL; nothing to do is a success')
    .action(
      action(async (context) => {
        const { address } = requireShared(context)
        const { migrate } = await import('#db/postgres/engine/migrate.ts')
        const { from, to, madeFunctions } = await migrate(address)
        const record: MigrationRecord = {
          store: renderAddress(address),
          from,
          to,
          made_functions: madeFunctions,
        }
        if (context.json) return printJson(record)
        if (context.quiet) return
        const place = clean(record.store)
        if (from !== to) print(`${place}: schema ${from} → ${to}`)
        else if (madeFunctions)
          print(`${place}: schema ${to} as before, with the functions of this binary now`)
        else print(`${place} is schema ${to} already`)
      }),
    )
