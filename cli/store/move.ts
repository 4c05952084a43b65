/** `gatewayctl store move`: everything from the data directory into PostgreSQL, or back, while nobody serves from either. */
import type { Move, MoveOptions } from '#db/move/move.ts'
import { renderAddress } from '#db/postgres/engine/address.ts'
import { renderInstant } from '#domain/clock.ts'
import { shellWord } from '#forms/shell-word.ts'
import { action, type Mount } from '../action.ts'
import { lockStopped } from '../backup/aside.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { hasDatabase, makePrivateDirectory } from '../gateway/access.ts'
import { notInitialised } from '../gateway/open-operator.ts'
import { operatorName } from '../gateway/operator-name.ts'
import { readMasterKey } from '../settings/master-key.ts'
import { readStoreAddress } from '../settings/shared-store.ts'
import { clean } from '../terminal/clean.ts'
import { count } from '../terminal/count.ts'
import { print, printJson, printNote } from '../terminal/output.ts'
import { awaitProgress } from '../terminal/progress.ts'

interface Flags {
  readonly to?: string
  readonly from?: string
}

/** What `--json` prints. */
export interface MoveRecord {
  /** A data directory, or an address without its password. */
  readonly from: string
  readonly to: string
  readonly moved_at: string
  readonly tables: number
  readonly rows: number
  /** What the audit adds up to on both sides. */
  readonly entries: number
  readonly accounts: number
}

export const mount: Mount = (store) =>
  store
    .command('move')
    .description(
      'move all of it into PostgreSQL, or back, while nobody serves; what was moved opens no more',
    )
    .option(
      '--to <address>',
      'from the data directory into this PostgreSQL, which holds nothing yet',
    )
    .option('--from <address>', 'from this PostgreSQL into the data directory, which is empty yet')
    .action(
      action(async (context, { to, from }: Flags) => {
        if ((to === undefined) === (from === undefined)) {
          throw usageError(
            'either --to or --from',
            'gatewayctl store move --to postgres://owner@host:5432/database',
          )
        }
        const record =
          to === undefined ? await moveBack(context, from ?? '') : await moveAway(context, to)
        if (context.json) return printJson(record)
        const { rows, tables, entries, accounts } = record
        if (!context.quiet) {
          print(`moved ${count(rows, 'row')} of ${count(tables, 'table')} to ${clean(record.to)}`)
          print(
            `audit clean and equal on both sides: ${count(entries, 'entry', 'entries')}, ${count(accounts, 'account')}`,
          )
        }
        printNote(context, `${clean(record.from)} opens no more`)
        printNote(context, `next: ${nextOf(record, to !== undefined)}`)
      }),
    )

const nextOf = ({ to }: MoveRecord, isAway: boolean): string =>
  isAway
    ? `GATEWAY_STORE=${shellWord(clean(to))}, and the master key of this directory at every node, then: gatewayctl serve`
    : `GATEWAY_DATA_DIR=${clean(to)}, and the same master key, without GATEWAY_STORE, then: gatewayctl serve`

/** @throws CommandError 1, 2 */
async function moveAway(context: Context, stated: string): Promise<MoveRecord> {
  const { dataDir } = context
  const address = readStoreAddress(context, '--to', stated)
  if (!hasDatabase(dataDir)) throw notInitialised(dataDir)
  const move = await run(context, 'moveToPostgres', address)
  return toRecord(move, dataDir, renderAddress(address))
}

/** @throws CommandError 1, 2 */
async function moveBack(context: Context, stated: string): Promise<MoveRecord> {
  const { dataDir } = context
  const address = readStoreAddress(context, '--from', stated)
  makePrivateDirectory(dataDir)
  const move = await run(context, 'moveToSqlite', address)
  return toRecord(move, renderAddress(address), dataDir)
}

async function run(
  context: Context,
  way: 'moveToPostgres' | 'moveToSqlite',
  address: MoveOptions['address'],
): Promise<Move> {
  const { dataDir } = context
  lockStopped(dataDir)()
  const [{ openVault }, { MoveRefusal, ...ways }] = await Promise.all([
    import('#db/vault.ts'),
    import('#db/move/move.ts'),
  ])
  const masterKey = readMasterKey(context, { create: false })
  let now = 'moving'
  const progress = awaitProgress(context, () => now)
  try {
    return await ways[way]({
      dataDir,
      address,
      clock: context.clock,
      vault: masterKey && openVault(masterKey),
      who: operatorName(context.env),
      said(table, rows) {
        now = `moving ${table}: ${rows}`
      },
    })
  } catch (cause) {
    if (!(cause instanceof MoveRefusal)) throw cause
    throw new CommandError('move_refused', EXIT.failed, cause.message, cause.hint)
  } finally {
    progress.done()
  }
}

const toRecord = ({ at, tables, rows, audit }: Move, from: string, to: string): MoveRecord => ({
  from,
  to,
  moved_at: renderInstant(at),
  tables,
  rows,
  entries: audit.entries,
  accounts: audit.balances.length,
})
