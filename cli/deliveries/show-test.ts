/** Prints what became of a test notice on each channel; exit 6 when one failed, 4 when no gateway runs. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { EXIT, endWith } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'
import { awaitDelivery, type SentEvent } from '../thresholds/await-delivery.ts'

type Channel = SentEvent['channels'][number]

interface Addresses {
  readonly email: string | null
  readonly webhook_url: string | null
}

/** Waits for it where a gateway runs. */
export async function showTest(
  context: Context,
  { event_id, running }: VerbRecord<'thresholds.test'>,
  where: Addresses,
): Promise<void> {
  const fetchEvent = () =>
    call(context, 'deliveries.show', { ...context.accountInput, event: event_id })
  const event = running ? await awaitDelivery(fetchEvent) : await fetchEvent()
  if (!running) endWith(EXIT.notRunning)
  else if (!event.channels.every(hasArrived)) endWith(EXIT.unhealthy)
  if (context.json) return printJson(event)
  if (context.quiet) return print(event_id)
  if (!running) return printWaiting(context, event_id)
  for (const one of event.channels) print(describe(context, one, where, event))
}

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
  { email, webhook_url }: Addresses,
  { type, event_id: eventId }: SentEvent,
): string {
  const where = channel === 'email' ? `mail to ${email}` : `POST ${webhook_url}`
  const last = log.at(-1)
  const mark = last?.failure === null ? paint(context, 'green', '✓') : paint(context, 'red', '✖')
  return `${mark} ${clean(`${where} → ${resultOf(last)}`)}   event ${type} (test: true)  id ${eventId}`
}

function resultOf(last: Channel['log'][number] | undefined): string {
  if (last === undefined) return 'not tried yet'
  const words = [last.failure, last.status].filter((word) => word !== null)
  return `${words.join(' ') || 'sent'} in ${last.ms} ms`
}
