import { expect, test } from 'vitest'
import { idleTurn } from '#runtime/next-turn.ts'

const BUSY_MS = 0.3

function work(forMs: number): void {
  const untilMs = performance.now() + forMs
  while (performance.now() < untilMs);
}

/** Somebody has something to do in so many turns. */
function keepBusy(turns: number): { left: number } {
  const busy = { left: turns }
  const next = (): void => {
    work(BUSY_MS)
    if (--busy.left > 0) setImmediate(next)
  }
  setImmediate(next)
  return busy
}

test('whoever only looks goes on once nobody else has anything to do', async () => {
  // The system may take the thread away for longer than anybody is given way to.
  for (let n = 0; n < 20; n++) {
    const busy = keepBusy(5)
    await idleTurn()
    if (busy.left === 0) return
  }
  expect.unreachable()
})

test('a thread that is never idle is given way to for some milliseconds', async () => {
  const busy = keepBusy(1_000)
  const begunMs = performance.now()
  await idleTurn()
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(5)
  expect(busy.left).toBeGreaterThan(900)
  busy.left = 0
})
