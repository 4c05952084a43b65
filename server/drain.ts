/** Drains: waits for the walks in progress, then ends them, so that every admission is settled before the house closes. */
import type { GatewayError } from '#domain/errors.ts'
import type { RunningWalks } from '#http/running-walks.ts'

/** A client that reads is told why its stream ends; one that does not is not waited for longer than this. */
const FAREWELL_MS = 1_000
/** An upstream that ignores its abort keeps nobody for longer; its hold is resolved at the next start. */
const LAST_WAIT_MS = 5_000

export async function drain(
  running: RunningWalks,
  drainMs: number,
  reason: () => GatewayError,
): Promise<void> {
  if (await settledWithin(running, drainMs)) return
  for (const walk of running.list()) walk.abort(reason())
  if (await settledWithin(running, FAREWELL_MS)) return
  for (const walk of running.list()) void walk.leave()
  await settledWithin(running, LAST_WAIT_MS)
}

async function settledWithin(running: RunningWalks, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([running.settled(), expired])
  clearTimeout(timer)
  return running.count === 0
}
