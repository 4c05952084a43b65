/** `gatewayctl deliveries redeliver`: sends a notice again, with the same id and body. */
import { CHANNELS } from '#domain/notice.ts'
import { action, type Mount } from '../action.ts'
import { readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (deliveries) =>
  deliveries
    .command('redeliver')
    .description('resend a notice on every channel that has not delivered it')
    .argument('<event>', 'event id: evt_…')
    .argument('[channel]', 'email or webhook: only this one, even if it was delivered')
    .action(
      action(async (context, event: string, channel: string | undefined) => {
        const record = await call(context, 'deliveries.redeliver', {
          ...context.accountInput,
          event,
          channel: channel === undefined ? null : readChoice('the channel', channel, CHANNELS),
        })
        if (context.json) return printJson(record)
        const { event_id, channels, running } = record
        const when = running ? 'will be sent again' : 'will be sent again when a gateway runs'
        noteDone(context, `${event_id} ${when} by ${channels.join(' and ')}`)
        print(event_id)
        printNote(context, `next: gatewayctl deliveries show ${event_id}`)
      }),
    )
