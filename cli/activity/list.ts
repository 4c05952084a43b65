/** `gatewayctl activity list`: requests that have ended, newest first; with `--admin` what operators changed. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { type RangeFlags, readRange } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'
import { noteScope, type Scope } from '../terminal/scope.ts'
import { addFilterFlags, type FilterFlags, readFilterFlags } from './filter-flags.ts'
import { spanOf } from './span.ts'
import { checkTrimmed } from './warn-of-trimmed.ts'
import { warnOfUnknown } from './warn-of-unknown.ts'

type Line = VerbRecord<'activity.list'>[number]

interface Flags extends FilterFlags, ListingFlags, RangeFlags {
  readonly admin?: boolean
}

export const mount: Mount = (activity) =>
  addFilterFlags(
    activity.command('list').description('list requests that have ended, newest first'),
  )
    .option('--since <time>', 'start time: 1h, today, month, 2026-12-01T00:00:00Z')
    .option('--until <time>', 'end time, exclusive')
    .option('--limit <n>', LIMIT_HELP)
    .option('--csv', 'comma-separated, with a header')
    .option('--admin', 'list changes by operators and provisioning keys instead of requests')
    .action(
      action(async (context, flags: Flags) => {
        if (flags.admin) return await listAdmin(context, flags)
        const query = toQuery(context, flags)
        const scope = await noteScope(context, 'all accounts')
        const { last, isWhole } = await printListing<Line>(context, flags, {
          page: (before, limit) =>
            call(context, 'activity.list', { ...query, before: before?.id ?? null, limit }),
          countAfter: async ({ id }) =>
            (await call(context, 'activity.count', { ...query, before: id })).count,
          columns: columns(context, scope),
          idOf: ({ id }) => id,
          csv: { fields: CSV_FIELDS, cells: (line) => ({ ...line }) },
        })
        if (isWhole) await checkTrimmed(context, query.since)
        if (last === undefined) await warnOfUnknown(context, flags)
      }),
    )

/** The filters on requests. */
const OF_REQUESTS = ['key', 'model', 'provider', 'surface', 'status', 'slow', 'errors'] as const

async function listAdmin(context: Context, flags: Flags): Promise<void> {
  const strange = OF_REQUESTS.find((flag) => flags[flag] !== undefined)
  if (strange !== undefined)
    throw usageError(`--${strange} filters requests and cannot be combined with --admin`)
  if (context.accountInput.account !== undefined)
    throw usageError(
      '--admin lists changes to the whole gateway and cannot be combined with --account',
    )
  const { listActs } = await import('./acts.ts')
  await listActs(context, flags)
}

const toQuery = (context: Context, flags: Flags) => ({
  ...readFilterFlags(context, flags),
  ...readRange(flags, context.clock.now()),
})

const columns = (context: Context, { isMixed, nameOf }: Scope): readonly Column<Line>[] => [
  {
    title: 'at',
    full: ({ created_at }) => created_at,
    short: ({ created_at }) => relativeTime(created_at, context.clock.now()),
  },
  { title: 'status', right: true, full: ({ status }) => status },
  { title: 'id', isId: true, dropOrder: 5, full: ({ id }) => id },
  { title: 'key', full: ({ key_name }) => key_name },
  { title: 'model', full: ({ model }) => model },
  {
    title: 'time',
    right: true,
    dropOrder: 4,
    full: ({ total_ms }) => total_ms,
    short: ({ total_ms }) => spanOf(total_ms),
  },
  { title: 'in', right: true, dropOrder: 2, full: ({ prompt_tokens }) => prompt_tokens },
  { title: 'out', right: true, dropOrder: 3, full: ({ completion_tokens }) => completion_tokens },
  { title: 'images', right: true, dropOrder: 1, full: ({ images }) => images || null },
  { title: 'cost $', right: true, full: ({ cost_usd }) => cost_usd },
  {
    title: 'error',
    full: ({ code, ended_by }) => code ?? (ended_by === 'client' ? 'client closed' : null),
  },
  { title: 'surface', dropOrder: 1, full: ({ surface }) => surface },
  ...(isMixed ? [{ title: 'account', full: ({ account_id }: Line) => nameOf(account_id) }] : []),
]

const CSV_FIELDS = [
  'created_at',
  'id',
  'request_id',
  'key_id',
  'key_name',
  'user',
  'model',
  'provider',
  'stream',
  'status',
  'code',
  'ended_by',
  'finish_reason',
  'prompt_tokens',
  'completion_tokens',
  'images',
  'usage_source',
  'cost_usd',
  'cost_rub',
  'failed_attempts',
  'queued_ms',
  'first_byte_ms',
  'total_ms',
  'account_id',
  'surface',
  'session',
] as const satisfies readonly (keyof Line)[]
