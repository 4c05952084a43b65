/** `gatewayctl users events`: who signed in where, who was refused, and whose access changed, newest first. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { type RangeFlags, readRange } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Event = VerbRecord<'users.events'>[number]

interface Flags extends ListingFlags, RangeFlags {
  readonly person?: string
  readonly client?: string
  readonly outcome?: string
  readonly refused?: boolean
}

export const mount: Mount = (users) =>
  users
    .command('events')
    .description('list sign-ins, refusals and changes of access, newest first')
    .option('--person <person>', 'only this person: e-mail address or id')
    .option('--client <client>', 'only this application: client_id or name')
    .option('--outcome <outcome>', 'only this one: signed_in, wrong_code, users.disable …')
    .option('--refused', 'only refusals')
    .option('--since <time>', 'start time: 1h, today, month, 2026-12-01T00:00:00Z')
    .option('--until <time>', 'end time, exclusive')
    .option('--limit <n>', LIMIT_HELP)
    .option('--csv', 'comma-separated, with a header')
    .action(
      action(async (context, flags: Flags) => {
        if (context.accountInput.account !== undefined) {
          throw usageError('users events lists every account and cannot be combined with --account')
        }
        const query = toQuery(context, flags)
        await printListing<Event>(context, flags, {
          page: (last, limit) =>
            call(context, 'users.events', { ...query, before: last?.id ?? null, limit }),
          columns: columns(context),
          idOf: ({ id }) => id,
          csv: {
            fields: CSV_FIELDS,
            cells: (event) => ({ ...event, changed: changesOf(event) }),
          },
        })
      }),
    )

const toQuery = (context: Context, flags: Flags) => ({
  person: flags.person ?? null,
  client: flags.client ?? null,
  outcome: flags.outcome ?? null,
  refused: flags.refused === true,
  ...readRange(flags, context.clock.now()),
})

const changesOf = ({ changed }: Event): string | null => changed && JSON.stringify(changed)

const columns = (context: Context): readonly Column<Event>[] => [
  {
    title: 'at',
    full: ({ at }) => at,
    short: ({ at }) => relativeTime(at, context.clock.now()),
  },
  { title: 'outcome', full: ({ outcome }) => outcome },
  { title: 'person', full: ({ email, person }) => email ?? person },
  { title: 'client', full: ({ client }) => client },
  { title: 'by', dropOrder: 2, full: ({ method, who }) => method ?? who },
  { title: 'from', dropOrder: 1, full: ({ address }) => address },
  { title: 'detail', dropOrder: 3, full: (event) => event.detail ?? changesOf(event) },
]

const CSV_FIELDS = [
  'at',
  'id',
  'outcome',
  'refused',
  'method',
  'person',
  'email',
  'client',
  'address',
  'detail',
  'who',
  'changed',
] as const satisfies readonly (keyof Event)[]
