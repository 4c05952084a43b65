// A look back over a long log lets requests pass: it must not hold the one thread until it has found what it seeks.
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aClaim, aKey, anActivity } from '#test/support/nouns.ts'

const LINES = 10_000

test.each(['list', 'drift'] as const)('%s gives the thread back again and again', async (act) => {
  const clock = handClock('2026-08-22T12:00:00Z')
  const store = await openStore({ dataDir: ':memory:', clock })
  onTestFinished(() => store.close())
  const key = aKey(clock.now())
  for (let i = 0; i < LINES; i++) store.activity.note(anActivity(aClaim(key, clock.now())))
  // Loads what is loaded once, and commits what was noted.
  await store.activity.list({ limit: 1 })

  let turns = 0
  let isLooking = true
  const count = (): void => {
    turns++
    if (isLooking) setImmediate(count)
  }
  setImmediate(count)
  const found =
    act === 'list'
      ? await store.activity.list({ requestId: 'nobody', limit: 1 })
      : await store.activity.drift({})
  isLooking = false
  expect(found).toEqual([])
  expect(turns).toBeGreaterThanOrEqual(LINES / 1_000)
})
