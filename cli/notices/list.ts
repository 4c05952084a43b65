/** `gatewayctl notices list`: what the gateway told its operator, newest first. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Notice = VerbRecord<'notices.list'>[number]

interface NoticeFlags extends ListingFlags {
  readonly unseen?: boolean
  readonly of?: string
}

export const mount: Mount = (notices) =>
  notices
    .command('list')
    .description('list what the gateway told its operator, newest first')
    .option('--unseen', 'only what nobody has marked as seen')
    .option('--of <account>', 'only what concerns this account')
    .option('--limit <n>', LIMIT_HELP)
    .action(
      action(async (context, flags: NoticeFlags) => {
        // Whose they are is said only where people read it.
        const accounts =
          context.json || context.quiet ? [] : await call(context, 'accounts.list', {})
        await printListing<Notice>(context, flags, {
          page: (last, limit) =>
            call(context, 'notices.list', {
              account: flags.of,
              unseen: flags.unseen === true,
              before: last?.event_id ?? null,
              limit,
            }),
          columns: columns(context, accounts),
          idOf: ({ event_id }) => event_id,
        })
      }),
    )

/** Who, what and how much stand at its beginning. */
const MESSAGE_COLUMNS = 48

type Account = VerbRecord<'accounts.list'>[number]

const columns = (context: Context, accounts: readonly Account[]): readonly Column<Notice>[] => [
  {
    title: 'raised',
    full: ({ raised_at }) => raised_at,
    short: ({ raised_at }) => relativeTime(raised_at, context.clock.now()),
  },
  { title: 'event', isId: true, dropOrder: 2, full: ({ event_id }) => event_id },
  ...(accounts.length < 2
    ? []
    : [
        {
          title: 'account',
          // Of the whole gateway there is none.
          full: ({ facts }: Notice) => {
            const { account_id: id = null } = facts
            return accounts.find((one) => one.id === id)?.name ?? (id === null ? null : String(id))
          },
        },
      ]),
  { title: 'severity', full: ({ severity }) => severity },
  { title: 'state', full: ({ state }) => state },
  { title: 'seen', dropOrder: 1, full: ({ seen_at }) => (seen_at === null ? 'no' : 'yes') },
  { title: 'what', least: MESSAGE_COLUMNS, full: ({ message }) => message },
]
