/** `gatewayctl ledger list`: every charge and credit, newest first. */
import { ENTRY_KINDS } from '#domain/ledger.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readChoice } from '../flags/read-choice.ts'
import { type RangeFlags, readRange } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'
import { noteScope } from '../terminal/scope.ts'

type Entry = VerbRecord<'ledger.list'>[number]

interface Flags extends ListingFlags, RangeFlags {
  readonly key?: string
  readonly kind?: string
}

export const mount: Mount = (ledger) =>
  ledger
    .command('list')
    .description('list charges and credits, newest first')
    .option('--key <key>', 'only this key: id, name or shown prefix')
    .option('--kind <kind>', 'charge, top_up, adjust or refund')
    .option('--since <time>', 'start time: 7d, today, month, 2026-12-01T00:00:00Z')
    .option('--until <time>', 'end time, exclusive')
    .option('--limit <n>', LIMIT_HELP)
    .option('--csv', 'comma-separated, with a header')
    .action(
      action(async (context, flags: Flags) => {
        const query = {
          ...context.accountInput,
          key: flags.key ?? null,
          kind: flags.kind === undefined ? null : readChoice('--kind', flags.kind, ENTRY_KINDS),
          ...readRange(flags, context.clock.now()),
        }
        await noteScope(context, 'default account')
        await printListing<Entry>(context, flags, {
          page: (last, limit) =>
            call(context, 'ledger.list', { ...query, before: last?.id ?? null, limit }),
          countAfter: async ({ id }) =>
            (await call(context, 'ledger.count', { ...query, before: id })).count,
          columns: columns(context),
          idOf: ({ id }) => id,
          csv: { fields: CSV_FIELDS, cells: (entry) => ({ ...entry }) },
        })
      }),
    )

const columns = (context: Context): readonly Column<Entry>[] => [
  {
    title: 'at',
    full: ({ at }) => at,
    short: ({ at }) => relativeTime(at, context.clock.now()),
  },
  { title: 'kind', full: ({ kind }) => kind },
  { title: 'amount $', right: true, full: ({ amount_usd }) => amount_usd },
  { title: 'cost ₽', right: true, full: ({ cost_rub }) => cost_rub },
  { title: 'rate', right: true, dropOrder: 2, full: ({ rub_per_usd }) => rub_per_usd },
  { title: 'key', isId: true, dropOrder: 6, full: ({ key_id }) => key_id },
  { title: 'generation', isId: true, dropOrder: 4, full: ({ generation_id }) => generation_id },
  { title: 'ref', dropOrder: 3, full: ({ ref }) => ref },
  { title: 'note', dropOrder: 5, full: ({ note }) => note },
  { title: 'id', isId: true, dropOrder: 1, full: ({ id }) => id },
]

const CSV_FIELDS = [
  'at',
  'id',
  'kind',
  'amount_usd',
  'cost_rub',
  'rub_per_usd',
  'key_id',
  'generation_id',
  'day',
  'user',
  'price_version',
  'ref',
  'note',
  'account',
] as const satisfies readonly (keyof Entry)[]
