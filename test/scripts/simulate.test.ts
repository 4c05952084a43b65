// What the simulation of several nodes promises: the same seed gives the same result, and exact policies are exact.
import { describe, expect, test } from 'vitest'
import { askEveryTime } from '#scripts/simulate/policies/ask-every-time.ts'
import { exchangeCounts } from '#scripts/simulate/policies/exchange-counts.ts'
import { lendAhead } from '#scripts/simulate/policies/lend-ahead.ts'
import type { Policy, Setting } from '#scripts/simulate/policy.ts'
import { runScenario, type Scenario } from '#scripts/simulate/scenario.ts'

const WINDOW: Scenario = {
  name: 'a window',
  limits: { rpm: 600, ceilingMicros: Number.MAX_SAFE_INTEGER },
  requestsPerSecond: 40,
  seconds: 150,
  troubleAtSeconds: 65,
  trouble: 'none',
}
const CEILING: Scenario = {
  ...WINDOW,
  name: 'a ceiling',
  limits: { rpm: 1_000_000, ceilingMicros: 5_000_000 },
  seconds: 60,
  troubleAtSeconds: 5,
}
const lend = (setting: Setting): Policy => lendAhead(setting, 1_000)
const exchange = (setting: Setting): Policy => exchangeCounts(setting, 1_000)
const wishes = { nodes: 4, seed: 7 }

test('the same seed gives the same result, another seed another', () => {
  const told = runScenario(WINDOW, lend, wishes)
  expect(runScenario(WINDOW, lend, wishes)).toEqual(told)
  expect(runScenario(WINDOW, lend, { ...wishes, seed: 8 })).not.toEqual(told)
})

describe.each([1, 2, 3, 4, 5])('seed %i', (seed) => {
  test.each([
    ['asking every time', askEveryTime],
    ['lending ahead', lend],
  ])('%s spends no more than the ceiling, and refuses at it', (_, open) => {
    const told = runScenario(CEILING, open, { nodes: 4, seed })
    expect(told.mostOverMicros).toBe(0)
    expect(told.admitted).toBeGreaterThan(500)
    expect(told.refused).toBeGreaterThan(500)
  })

  test('asking every time fills the window and no more; one verdict may be on its way back', () => {
    const told = runScenario(WINDOW, askEveryTime, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeGreaterThanOrEqual(0)
    expect(told.mostOverRpm).toBeLessThanOrEqual(1)
  })

  test('lending ahead never exceeds the window, whichever node is lost', () => {
    const told = runScenario({ ...WINDOW, trouble: 'node-lost' }, lend, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeLessThanOrEqual(0)
  })

  test('exchanging counts exceeds it by what arrives between two exchanges', () => {
    const told = runScenario(WINDOW, exchange, { nodes: 4, seed })
    expect(told.mostOverRpm).toBeGreaterThan(5)
    expect(told.mostOverRpm).toBeLessThan(120)
  })

  test('a failover forgets what had not reached the second machine, and nothing older', () => {
    const told = runScenario({ ...CEILING, trouble: 'failover' }, askEveryTime, { nodes: 4, seed })
    expect(told.unavailable).toBeGreaterThan(0)
    expect(told.mostOverMicros).toBeLessThan(2 * 0.04 * 40 * 20_000)
  })
})
