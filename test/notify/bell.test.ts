// A bell that wakes a loop: rung before, during, or not at all.
import { expect, test } from 'vitest'
import { createBell } from '#notify/bell.ts'

const LONG_MS = 60_000

test('rung while nobody listens, it is heard by the next who does, once', async () => {
  const bell = createBell()
  bell.ring()
  bell.ring()
  await bell.rung(LONG_MS)
  const startedMs = performance.now()
  await bell.rung(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})

test('rung while somebody listens, it wakes them', async () => {
  const bell = createBell()
  const woken = bell.rung(LONG_MS)
  bell.ring()
  await woken
})

test('a listener who was not rung for wakes by himself, and rings nobody else awake', async () => {
  const bell = createBell()
  await bell.rung(5)
  const startedMs = performance.now()
  await bell.rung(20)
  expect(performance.now() - startedMs).toBeGreaterThan(15)
})
