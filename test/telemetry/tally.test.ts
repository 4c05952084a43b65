// The tally counts every request once, and its number of rows is bounded.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import { instant } from '#domain/clock.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { MILLISECONDS, observe, startHistogram, TOKENS } from '#telemetry/histogram.ts'
import { talliedFamilies } from '#telemetry/metric-families.ts'
import { OTHER_KEYS, startTally } from '#telemetry/tally.ts'
import { aClaim, aKey, anActivity, usd } from '#test/support/nouns.ts'

const AT = instant(1_800_000_000_000)
const key = aKey(AT)
const entry = (stated: Partial<ActivityEntry> = {}): ActivityEntry =>
  anActivity(aClaim(key, AT), stated)

test('the sums over all rows equal the sums over all requests', () => {
  void fc.assert(
    fc.property(
      fc.array(
        fc.record({
          model: fc.constantFrom('a/x', 'a/y'),
          provider: fc.constantFrom('a', 'b', null),
          status: fc.constantFrom(200, 429, 502),
          stream: fc.boolean(),
          endedBy: fc.constantFrom('completed', 'client', 'refused') as fc.Arbitrary<
            ActivityEntry['endedBy']
          >,
          totalMs: fc.nat({ max: 400_000 }),
          cost: fc.nat({ max: 1_000_000 }).map((nanos) => BigInt(nanos) as ActivityEntry['cost']),
          output: fc.nat({ max: 1_000 }),
        }),
        { maxLength: 60 },
      ),
      (endings) => {
        const tally = startTally()
        for (const { output, ...rest } of endings) {
          tally.ended(entry({ ...rest, usage: { ...NO_USAGE, outputTokens: output } }))
        }
        const rows = [...tally.rows]
        const servedModels = [...tally.servedModels]
        expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(endings.length)
        expect(rows.reduce((sum, { cost }) => sum + cost, 0n)).toBe(
          endings.reduce((sum, { cost }) => sum + cost, 0n),
        )
        expect(rows.reduce((sum, { usage }) => sum + usage.outputTokens, 0)).toBe(
          endings.reduce((sum, { output }) => sum + output, 0),
        )
        const observed = servedModels.flatMap(({ total }) => total.counts)
        expect(observed.reduce((sum, count) => sum + count, 0)).toBe(endings.length)
        expect(servedModels.reduce((sum, { total }) => sum + total.sum, 0)).toBe(
          endings.reduce((sum, { totalMs }) => sum + totalMs, 0),
        )
      },
    ),
  )
})

test('a duration is counted in the first bucket that is not shorter', () => {
  const bucketOf = (totalMs: number): number => {
    const tally = startTally()
    tally.ended(entry({ totalMs }))
    return [...tally.servedModels][0]?.total.counts.indexOf(1) ?? -1
  }
  expect([0, 10, 11, 20, 163_840, 163_841].map(bucketOf)).toEqual([0, 0, 1, 1, 14, 15])
  expect(MILLISECONDS.bounds.at(-1)).toBe(163_840)
})

test.each([MILLISECONDS, TOKENS])(
  'every value is counted in the bucket that a search would find',
  (scale) => {
    void fc.assert(
      fc.property(
        fc.oneof(fc.nat({ max: 2 ** 40 }), fc.constantFrom(...scale.bounds), fc.nat()),
        (value) => {
          const histogram = startHistogram(scale)
          observe(histogram, value)
          const found = scale.bounds.findIndex((bound) => value <= bound)
          expect(histogram.counts.indexOf(1)).toBe(found === -1 ? scale.bounds.length : found)
        },
      ),
    )
  },
)

test('webhooks and mails are counted separately, by outcome', () => {
  const tally = startTally()
  const attempt = { at: AT, status: 500, ms: 1 }
  tally.tried('webhook', { ...attempt, failure: 'status' })
  tally.tried('webhook', { ...attempt, failure: null })
  tally.tried('webhook', { ...attempt, failure: null })
  tally.tried('email', { ...attempt, failure: 'auth' })
  const of = (wanted: string) => {
    const family = talliedFamilies(tally).find(({ name }) => name === wanted)
    return family && 'samples' in family
      ? family.samples.map(({ labels, value }) => [labels['outcome'], value])
      : []
  }
  expect(of('gateway_webhook_deliveries_total')).toEqual([
    ['status', 1],
    ['delivered', 2],
  ])
  expect(of('gateway_email_deliveries_total')).toEqual([['auth', 1]])
  for (const client of ['wiki', 'wiki', '']) tally.signedIn(client, 'invalid_client')
  expect(of('gateway_signin_events_total')).toEqual([
    ['invalid_client', 2],
    ['invalid_client', 1],
  ])
})

test('keys beyond the maximum number of rows are counted together, and no request is lost', () => {
  const tally = startTally()
  for (let n = 0; n < 10_050; n++) tally.ended(entry({ keyId: `key_${n}` }))
  const rows = [...tally.rows]
  expect(rows.length).toBe(10_001)
  expect(rows.find(({ key }) => key === OTHER_KEYS)?.requests).toBe(50)
})

test('charges are summed as integers before they are converted to a number', () => {
  const tally = startTally()
  for (let n = 0; n < 10; n++) tally.ended(entry({ cost: usd('0.1'), stream: n % 2 === 0 }))
  const family = talliedFamilies(tally).find(({ name }) => name === 'gateway_cost_usd_total')
  expect(family && 'samples' in family && family.samples.map(({ value }) => value)).toEqual([1])
})
