/** Waits for what becomes of a notice: its first try on every channel, or patience's end. */
import type { VerbRecord } from '#operator/verbs.ts'

export type SentEvent = VerbRecord<'deliveries.show'>

const POLL_MS = 100
/** A try may take fifteen seconds, and a courier looks every few. */
const TIMEOUT_MS = 30_000

/** The event as it stands once every channel has a try in its log; as it stands then, when that takes too long. */
export async function awaitDelivery(
  fetchEvent: () => Promise<SentEvent>,
  timeoutMs = TIMEOUT_MS,
): Promise<SentEvent> {
  const deadlineMs = performance.now() + timeoutMs
  for (;;) {
    const event = await fetchEvent()
    if (event.channels.every(({ log }) => log.length > 0)) return event
    if (performance.now() >= deadlineMs) return event
    await Bun.sleep(POLL_MS)
  }
}
