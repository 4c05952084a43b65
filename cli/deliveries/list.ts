/** `gatewayctl deliveries list`: notices that are pending, delivered or given up, newest first. */
import { NOTICE_STATES } from '#domain/notice.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { LIMIT_HELP, type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'
import { noteScope } from '../terminal/scope.ts'

type Delivery = VerbRecord<'deliveries.list'>[number]

export const mount: Mount = (deliveries) =>
  deliveries
    .command('list')
    .description('list notices, newest first')
    .option('--state <state>', 'pending, delivered or dead (given up)')
    .option('--limit <n>', LIMIT_HELP)
    .action(
      action(async (context, flags: ListingFlags & { readonly state?: string }) => {
        const { state } = flags
        const query = {
          ...context.accountInput,
          state: state === undefined ? null : readChoice('--state', state, NOTICE_STATES),
        }
        await noteScope(context, 'default account')
        await printListing<Delivery>(context, flags, {
          page: (last, limit) =>
            call(context, 'deliveries.list', {
              ...query,
              before: last ? { event_id: last.event_id, channel: last.channel } : null,
              limit,
            }),
          columns: columns(context),
          idOf: ({ event_id }) => event_id,
        })
      }),
    )

const columns = (context: Context): readonly Column<Delivery>[] => [
  {
    title: 'created',
    full: ({ created_at }) => created_at,
    short: ({ created_at }) => relativeTime(created_at, context.clock.now()),
  },
  { title: 'event', isId: true, full: ({ event_id }) => event_id },
  { title: 'type', full: ({ type, test }) => (test ? `${type} (test)` : type) },
  { title: 'channel', full: ({ channel }) => channel },
  { title: 'state', full: ({ state }) => state },
  { title: 'tries', right: true, dropOrder: 1, full: ({ tries }) => tries },
  {
    title: 'next try',
    full: ({ next_try_at }) => next_try_at,
    short: ({ next_try_at }) => relativeTime(next_try_at, context.clock.now()),
  },
]
