/** `gatewayctl deliveries redeliver`: sends a notice again, with the id and the body it had. */
import { action, type Mount } from '../action.ts'
import { CHANNELS, readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'

export const mount: Mount = (deliveries) =>
  deliveries
    .command('redeliver')
    .description('send a notice again, wherever it has not arrived')
    .argument('<event>', 'its id: evt_…')
    .argument('[channel]', 'email or webhook: there alone, even if it had arrived')
    .action(
      action(async (context, event: string, channel: string | undefined) => {
        const record = await call(context, 'deliveries.redeliver', {
          event,
          channel: channel === undefined ? null : readChoice('the channel', channel, CHANNELS),
        })
        if (context.json) return printJson(record)
        const { event_id, channels, running } = record
        const when = running ? 'is sent again' : 'is sent again when a gateway runs'
        printNote(
          context,
          `${paint(context, 'green', '✓')} ${event_id} ${when} by ${channels.join(' and ')}`,
        )
        print(event_id)
        printNote(context, `next: gatewayctl deliveries show ${event_id}`)
      }),
    )
