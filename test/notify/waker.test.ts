// Waking a waiting loop: before it waits, while it waits, or not at all.
import { expect, test } from 'vitest'
import { createWaker } from '#notify/waker.ts'

const LONG_MS = 60_000

test('a wake-up while nothing waits is kept for the next wait, once', async () => {
  const waker = createWaker()
  waker.wake()
  waker.wake()
  await waker.sleep(LONG_MS)
  const startedMs = performance.now()
  await waker.sleep(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})

test('a wake-up while a loop waits ends its wait', async () => {
  const waker = createWaker()
  const woken = waker.sleep(LONG_MS)
  waker.wake()
  await woken
})

test('a wait that ends at its time-out wakes nothing else', async () => {
  const waker = createWaker()
  await waker.sleep(5)
  const startedMs = performance.now()
  await waker.sleep(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})
