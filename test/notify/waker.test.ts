// A bell that wakes a loop: rung before, during, or not at all.
import { expect, test } from 'vitest'
import { createWaker } from '#notify/waker.ts'

const LONG_MS = 60_000

test('rung while nobody listens, it is heard by the next who does, once', async () => {
  const waker = createWaker()
  waker.wake()
  waker.wake()
  await waker.sleep(LONG_MS)
  const startedMs = performance.now()
  await waker.sleep(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})

test('rung while somebody listens, it wakes them', async () => {
  const waker = createWaker()
  const woken = waker.sleep(LONG_MS)
  waker.wake()
  await woken
})

test('a listener who was not rung for wakes by himself, and rings nobody else awake', async () => {
  const waker = createWaker()
  await waker.sleep(5)
  const startedMs = performance.now()
  await waker.sleep(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})
