/** Drains: waits for the walks in progress, then ends them, so that every admission is settled before the gateway closes. */
import type { GatewayError } from '#domain/errors.ts'
import { within } from '#domain/within.ts'
import type { RunningWalks } from '#http/running-walks.ts'

/** How long a client may take to read the error that ends its stream. */
export const END_GRACE_MS = 1_000
/** How long to wait for an upstream that ignores its abort; its hold is voided at the next start. */
const LAST_WAIT_MS = 5_000

/** `hurried` ends the waiting for answers before `drainMs` has. */
export async function drain(
  running: RunningWalks,
  drainMs: number,
  hurried: Promise<void>,
  reason: () => GatewayError,
): Promise<void> {
  await within(Promise.race([running.settled(), hurried]), drainMs)
  if (running.count === 0) return
  for (const walk of running.list()) walk.abort(reason())
  if (await within(running.settled(), END_GRACE_MS)) return
  for (const walk of running.list()) void walk.leave()
  await within(running.settled(), LAST_WAIT_MS)
}
