/** `gatewayctl thresholds test`: sends a notice marked as a test, and waits for it; exit 6 when it fails. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { EXIT, endWith } from '../exit.ts'
import { CHANNELS, readChoice } from '../flags/read-choice.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'
import { awaitDelivery, type SentEvent } from './await-delivery.ts'

type Channel = SentEvent['channels'][number]

export const mount: Mount = (thresholds) =>
  thresholds
    .command('test')
    .description('send a test notice and wait for it; exit 6 when it fails')
    .argument('[channel]', 'email or webhook; default: every one that is set')
    .action(
      action(async (context, stated: string | undefined) => {
        const channel = stated === undefined ? null : readChoice('the channel', stated, CHANNELS)
        const threshold = await call(context, 'thresholds.show', context.accountInput)
        const { event_id, running } = await call(context, 'thresholds.test', {
          ...context.accountInput,
          channel,
        })
        const fetchEvent = () =>
          call(context, 'deliveries.show', { ...context.accountInput, event: event_id })
        const event = running ? await awaitDelivery(fetchEvent) : await fetchEvent()
        if (!running) endWith(EXIT.notRunning)
        else if (!event.channels.every(hasArrived)) endWith(EXIT.unhealthy)
        if (context.json) return printJson(event)
        if (context.quiet) return print(event_id)
        if (!running) printWaiting(context, event_id)
        else for (const one of event.channels) print(describe(context, one, threshold, event_id))
      }),
    )

const hasArrived = ({ log }: Channel): boolean => log.at(-1)?.failure === null

function printWaiting(context: Context, eventId: string): void {
  printNote(
    context,
    '! no gateway is running on this data directory: the test will be sent when one runs',
  )
  print(eventId)
  printNote(context, `next: gatewayctl serve     then: gatewayctl deliveries show ${eventId}`)
}

/** "✓ POST https://ops.example.org/hook → 204 in 131 ms   event gateway.low_balance (test: true)  id evt_…" */
function describe(
  context: Context,
  { channel, log }: Channel,
  { email, webhook_url }: { readonly email: string | null; readonly webhook_url: string | null },
  eventId: string,
): string {
  const where = channel === 'email' ? `mail to ${email}` : `POST ${webhook_url}`
  const last = log.at(-1)
  const mark = last?.failure === null ? paint(context, 'green', '✓') : paint(context, 'red', '✖')
  return `${mark} ${clean(`${where} → ${resultOf(last)}`)}   event gateway.low_balance (test: true)  id ${eventId}`
}

function resultOf(last: Channel['log'][number] | undefined): string {
  if (last === undefined) return 'not tried yet'
  const words = [last.failure, last.status].filter((word) => word !== null)
  return `${words.join(' ') || 'sent'} in ${last.ms} ms`
}
