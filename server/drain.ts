/** Drains: waits for the walks in progress, then ends them, so that every admission is settled before the gateway closes. */
import type { GatewayError } from '#domain/errors.ts'
import { within } from '#domain/within.ts'
import type { RunningWalks } from '#http/running-walks.ts'

/** A client that reads is told why its stream ends; one that does not is not waited for longer than this. */
export const FAREWELL_MS = 1_000
/** An upstream that ignores its abort keeps nobody for longer; its hold is resolved at the next start. */
const LAST_WAIT_MS = 5_000

export async function drain(
  running: RunningWalks,
  drainMs: number,
  reason: () => GatewayError,
): Promise<void> {
  if (await within(running.settled(), drainMs)) return
  for (const walk of running.list()) walk.abort(reason())
  if (await within(running.settled(), FAREWELL_MS)) return
  for (const walk of running.list()) void walk.leave()
  await within(running.settled(), LAST_WAIT_MS)
}
