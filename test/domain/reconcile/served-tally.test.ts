// Which requests in doubt may have called tools of the vendor: of those that asked for none the log knows it once they had begun.
import { expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
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
