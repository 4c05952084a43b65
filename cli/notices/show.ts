/** `gatewayctl notices show`: one notice, what lifts it, and how it was told. */
import { action, type Mount } from '../action.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

export const mount: Mount = (notices) =>
  notices
    .command('show')
    .description('show one notice, what lifts it, and how it was told')
    .argument('<event>', 'event id: evt_…')
    .action(
      action(async (context, event: string) => {
        const record = await call(context, 'notices.show', { event })
        const { held_until, sent_as, channels } = record
        const told = channels.map(({ channel, state }) => `${channel} ${state}`).join(', ')
        printRecord(context, record, record.event_id, [
          ['event', record.event_id],
          ['type', record.type],
          ['severity', record.severity],
          ['what', record.message],
          ['next', record.hint],
          ['raised', record.raised_at],
          ['state', record.lifted_at === null ? record.state : `lifted ${record.lifted_at}`],
          ['seen', record.seen_at ?? 'no'],
          [
            'told',
            held_until === null ? told || 'nobody: no address is set' : `held until ${held_until}`,
          ],
          ['sent as', sent_as],
          ['body', JSON.stringify(record.body)],
        ])
      }),
    )
