/** `gatewayctl deliveries show`: one notice, its body, and every delivery attempt on every channel. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

type Channel = VerbRecord<'deliveries.show'>['channels'][number]

export const mount: Mount = (deliveries) =>
  deliveries
    .command('show')
    .description('show one notice and its delivery attempts')
    .argument('<event>', 'event id: evt_…')
    .action(
      action(async (context, event: string) => {
        const record = await call(context, 'deliveries.show', { ...context.accountInput, event })
        printRecord(context, record, record.event_id, [
          ['event', record.event_id],
          ['type', record.test ? `${record.type} (test)` : record.type],
          ['created', record.created_at],
          ['body', JSON.stringify(record.body)],
          ...record.channels.flatMap(linesOf),
        ])
      }),
    )

const linesOf = ({ channel, state, next_try_at, log }: Channel) => [
  [channel, next_try_at === null ? state : `${state}, next try ${next_try_at}`] as const,
  ...log.map(({ at, status, failure, ms }, index) => {
    const result = [failure ?? 'delivered', status].filter((word) => word !== null).join(' ')
    return [`${channel} try ${index + 1}`, `${at} ${result} in ${ms} ms`] as const
  }),
]
