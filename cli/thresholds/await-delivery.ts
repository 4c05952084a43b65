/** Waits for the first delivery attempt of a notice on every channel, up to a time-out. */
import type { VerbRecord } from '#operator/verbs.ts'

export type SentEvent = VerbRecord<'deliveries.show'>

const POLL_MS = 100
/** An attempt may take fifteen seconds, and the courier polls every few seconds. */
const TIMEOUT_MS = 30_000

/** The event once every channel has an attempt in its log, or its state at the time-out. */
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
