// What is in doubt: which requests may have called tools of the vendor, and that each is counted once.
import { expect, test } from 'vitest'
import { DAY_MS, dayOf, instant, later } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { NO_MONEY } from '#domain/money.ts'
import { type ServedEntry, ServedTally } from '#domain/reconcile/served-tally.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { usd } from '#test/support/nouns.ts'

const at = instant(Date.parse('2026-10-07T12:00:00Z'))
const hungUp = (usage: Partial<ServedEntry['usage']>): ServedEntry => ({
  generationId: 'gen-1' as GenerationId,
  model: 'm',
  provider: 'acme',
  endedBy: 'client',
  usage: { ...NO_USAGE, ...usage },
  usageSource: 'estimated',
  modifiers: [],
  image: null,
  cost: usd('0.1'),
  statedCost: null,
  failedAttempts: [],
  unchargedCost: NO_MONEY,
  hold: usd('0.5'),
  admittedAt: at,
  endedAt: at,
  version: null,
})

test.each([
  ['that had begun without', { outputTokens: 7 }, false],
  ['that had drawn without', { outputImages: 1 }, false],
  ['that had begun with one', { outputTokens: 7, serverCalls: { web_search: 1 } }, true],
  ['of which nothing had come', {}, true],
])('an answer %s tools', (_, usage, mayHave) => {
  const tally = new ServedTally('acme')
  tally.add(hungUp(usage))
  const [day] = tally.days
  expect(day?.doubts.hung_up?.requests).toBe(1)
  expect(day?.toolDoubts).toEqual(mayHave ? day?.doubts : {})
})

test('a request in doubt for several reasons, and over midnight, is one, on the day on which it began', () => {
  const attempt = {
    model: 'm',
    provider: 'acme',
    outcome: 'failed',
    status: null,
    reason: 'reset',
    ms: 1,
    operatorCost: NO_MONEY,
  } as const
  const tally = new ServedTally('acme')
  tally.add({
    ...hungUp({ outputTokens: 7 }),
    endedAt: later(at, DAY_MS),
    failedAttempts: [attempt, { ...attempt, model: 'n' }],
    unchargedCost: usd('0.2'),
  })
  const { days } = tally
  const begun = days.map(({ day, model, begun }) => ({ day: day - dayOf(at), model, ...begun }))
  const none = { requests: 0, byReason: {}, most: NO_MONEY }
  expect(begun.toSorted((a, b) => a.day - b.day)).toEqual([
    {
      day: 0,
      model: 'm',
      requests: 1,
      byReason: { failed_attempt: 1, hung_up: 1, withheld: 1 },
      most: usd('1.2'),
    },
    { day: 0, model: 'n', requests: 0, byReason: {}, most: usd('0.5') },
    { day: 1, model: 'm', ...none },
    { day: 1, model: 'n', ...none },
  ])
  expect(days.every(({ doubts }) => doubts.failed_attempt?.requests === 1)).toBe(true)
})
