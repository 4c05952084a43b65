/** Waits for what becomes of a notice: its first try on every channel, or patience's end. */
import type { VerbRecord } from '#operator/verbs.ts'

export type SentEvent = VerbRecord<'deliveries.show'>

const LOOK_MS = 100
/** A try may take fifteen seconds, and a courier looks every few. */
const PATIENCE_MS = 30_000

/** The event as it stands once every channel has a try in its log; as it stands then, when that takes too long. */
export async function awaitDelivery(
  look: () => Promise<SentEvent>,
  patienceMs = PATIENCE_MS,
): Promise<SentEvent> {
  const deadlineMs = performance.now() + patienceMs
  for (;;) {
    const event = await look()
    if (event.channels.every(({ log }) => log.length > 0)) return event
    if (performance.now() >= deadlineMs) return event
    await Bun.sleep(LOOK_MS)
  }
}
