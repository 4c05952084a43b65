// The cost that a provider reports is read exactly, and recorded beside the charge without changing it.
import { expect, test } from 'vitest'
import { fromResponse } from '#upstream/openai/from-response.ts'
import { fromCost, toUsageEvent } from '#upstream/openai/from-usage.ts'
import { fromImages } from '#upstream/openai/images/from-images.ts'

test.each([
  ['OpenRouter', { cost: 0.0387262, is_byok: false }, 38_726_200n],
  [
    'OpenRouter, repeated',
    { cost: 0.00019, cost_details: { upstream_inference_cost: 0.00019 } },
    190_000n,
  ],
  ['OpenRouter, free', { cost: 0, is_byok: false }, 0n],
  ['xAI', { cost_in_usd_ticks: 2_733_250 }, 273_325n],
  ['xAI, half a nano-dollar', { cost_in_usd_ticks: 5 }, 1n],
  ['Perplexity', { cost: { input_tokens_cost: 0.00001, total_cost: 0.00501 } }, 5_010_000n],
])('%s', (_, usage, expected) => {
  expect(fromCost(usage)).toBe(expected)
})

test('with a key of the operator’s own: the fee and the vendor’s bill together, or nothing', () => {
  const own = (cost: unknown, upstream: unknown) =>
    fromCost({ is_byok: true, cost, cost_details: { upstream_inference_cost: upstream } })
  expect(own(0, 0.0360795)).toBe(36_079_500n)
  expect(own(0.95, 19)).toBe(19_950_000_000n)
  expect(own(0.95, null)).toBeUndefined()
  expect(own(undefined, 19)).toBeUndefined()
  expect(fromCost({ is_byok: true, cost: 0.95 })).toBeUndefined()
})

test.each([
  -0.01,
  Number.NaN,
  Infinity,
  1e12,
  '0.01',
  true,
  null,
  [0.01],
  {},
  { total_cost: '0.01' },
  // Until it is known.
  { total_cost: 0 },
])('%j is not a cost', (cost) => {
  expect(fromCost({ cost })).toBeUndefined()
  expect(
    fromCost({ cost_in_usd_ticks: typeof cost === 'number' ? cost * 1e10 : cost }),
  ).toBeUndefined()
  expect(toUsageEvent({ prompt_tokens: 1, cost })).toEqual(toUsageEvent({ prompt_tokens: 1 }))
})

test('it stands beside the count, and alone where nothing was counted', () => {
  const body = { choices: [{ message: { content: 'hi' } }] }
  const last = (usage: object) => fromResponse({ ...body, usage }, (text) => text).events.at(-1)
  expect(last({ prompt_tokens: 3, completion_tokens: 1, cost: 0.5 })).toMatchObject({
    type: 'usage',
    usage: { inputTokens: 3, outputTokens: 1 },
    statedCost: 500_000_000n,
  })
  expect(last({ prompt_tokens: 3 })).not.toHaveProperty('statedCost')
  // xAI counts no tokens of an image.
  const drawn = { data: [], usage: { cost_in_usd_ticks: 200_000_000 } }
  expect(fromImages(drawn, 1, (text) => text).events.at(-1)).toEqual({
    type: 'usage',
    usage: null,
    statedCost: 20_000_000n,
  })
})
