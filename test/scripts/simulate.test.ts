// What the simulation of several nodes promises: the same seed tells the same story, and exact policies are exact.
import { describe, expect, test } from 'vitest'
import {
  askEveryTime,
  exchangeCounts,
  lendAhead,
  type Policy,
  type Setting,
} from '#scripts/simulate/policies.ts'
import { type Story, tell } from '#scripts/simulate/story.ts'

const WINDOW: Story = {
  name: 'a window',
  limits: { rpm: 600, ceilingMicros: Number.MAX_SAFE_INTEGER },
  requestsPerSecond: 40,
  seconds: 150,
  troubleAtSeconds: 65,
  trouble: 'none',
}
const CEILING: Story = {
  ...WINDOW,
  name: 'a ceiling',
  limits: { rpm: 1_000_000, ceilingMicros: 5_000_000 },
  seconds: 60,
  troubleAtSeconds: 5,
}
const lend = (setting: Setting): Policy => lendAhead(setting, 1_000)
const exchange = (setting: Setting): Policy => exchangeCounts(setting, 1_000)
const wishes = { nodes: 4, seed: 7 }

test('the same seed tells the same story, another seed another', () => {
  const told = tell(WINDOW, lend, wishes)
  expect(tell(WINDOW, lend, wishes)).toEqual(told)
  expect(tell(WINDOW, lend, { ...wishes, seed: 8 })).not.toEqual(told)
})

describe.each([1, 2, 3, 4, 5])('seed %i', (seed) => {
  test.each([
    ['asking every time', askEveryTime],
    ['lending ahead', lend],
  ])('%s spends no more than the ceiling, and refuses at it', (_, open) => {
    const told = tell(CEILING, open, { nodes: 4, seed })
    expect(told.mostOverMicros).toBe(0)
    expect(told.admitted).toBeGreaterThan(500)
    expect(told.refused).toBeGreaterThan(500)
  })

  test('asking every time fills the window and no more; one verdict may be on its way back', () => {
    const told = tell(WINDOW, askEveryTime, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeGreaterThanOrEqual(0)
    expect(told.mostOverRpm).toBeLessThanOrEqual(1)
  })

  test('lending ahead never exceeds the window, whichever node is lost', () => {
    const told = tell({ ...WINDOW, trouble: 'node-lost' }, lend, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeLessThanOrEqual(0)
  })

  test('exchanging counts exceeds it by what arrives between two exchanges', () => {
    const told = tell(WINDOW, exchange, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeGreaterThan(5)
    expect(told.mostOverRpm).toBeLessThan(120)
  })

  test('a failover forgets what had not reached the second machine, and nothing older', () => {
    const told = tell({ ...CEILING, trouble: 'failover' }, askEveryTime, { nodes: 4, seed })
    expect(told.unavailable).toBeGreaterThan(0)
    expect(told.mostOverMicros).toBeLessThan(2 * 0.04 * 40 * 20_000)
  })
})
