/** `gatewayctl deliveries list`: notices that are pending, delivered or given up, newest first. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readChoice } from '../flags/read-choice.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type Column, printList } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Delivery = VerbRecord<'deliveries.list'>[number]

const STATES = ['pending', 'delivered', 'dead'] as const

export const mount: Mount = (deliveries) =>
  deliveries
    .command('list')
    .description('list notices, newest first')
    .option('--state <state>', 'pending, delivered or dead (given up)')
    .option('--limit <n>', 'maximum number of rows', '50')
    .action(
      action(async (context, { state, limit }: { state?: string; limit: string }) => {
        const rows = await call(context, 'deliveries.list', {
          ...context.accountInput,
          state: state === undefined ? null : readChoice('--state', state, STATES),
          limit: readCount('--limit', limit),
        })
        printList(context, rows, columns(context), ({ event_id }) => event_id)
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
