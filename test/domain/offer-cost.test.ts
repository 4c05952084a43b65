/** How long an answer may be, and what its provider is told of it (contract §8). */
import { describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { ModelCard } from '#domain/model-card.ts'
import {
  boundToSend,
  checkContext,
  checkThinking,
  offerCost,
  outputBounds,
  tokensFor,
} from '#domain/offer-cost.ts'
import type { Provider } from '#domain/provider.ts'
import { DEFAULT_SETTINGS as SETTINGS } from '#domain/settings.ts'
import type { Generate } from '#domain/work.ts'
import { aCard, aKey, aProvider, aRequest, aVersion } from '#test/support/nouns.ts'

const hopOf = (card: Partial<ModelCard> = {}, provider: Partial<Provider> = {}) => ({
  card: aCard(card),
  provider: aProvider(provider),
  credential: null,
})

describe('the full bound', () => {
  const full = (
    stated: number | null,
    keyBound: number | null,
    card: Partial<ModelCard>,
    provider: Partial<Provider> = {},
  ) =>
    outputBounds(aRequest({ maxOutputTokens: stated }), hopOf(card, provider), keyBound, SETTINGS)
      .full

  test('is the least of the client’s, the key’s and the model’s', () => {
    const card = { maxCompletionTokens: 64_000, contextLength: 200_000 }
    expect(full(null, null, card)).toBe(64_000)
    expect(full(100, null, card)).toBe(100)
    expect(full(2e9, null, card)).toBe(64_000)
    expect(full(null, 500, card)).toBe(500)
    expect(full(400, 500, card)).toBe(400)
  })

  test('is the context where the model has no maximum, and the reserve where it has neither', () => {
    expect(full(null, null, { contextLength: 8_000 })).toBe(8_000)
    expect(full(null, null, {})).toBe(4_096)
    expect(full(9_000, null, {})).toBe(4_096)
  })

  test('is the model’s where the provider takes none, whatever client and key say', () => {
    expect(full(10, 20, { maxCompletionTokens: 64_000 }, { outputBound: 'none' })).toBe(64_000)
  })
})

describe('the floor', () => {
  const bounds = (
    request: Partial<Generate>,
    card: Partial<ModelCard> = {},
    provider: Partial<Provider> = {},
  ) => outputBounds(aRequest(request), hopOf(card, provider), null, SETTINGS)
  const floor = (...of: Parameters<typeof bounds>) => bounds(...of).floor

  test('is the reserve, more for a model that reasons, and a thinking budget with an answer', () => {
    expect(floor({})).toBe(4_096)
    expect(floor({}, { supportedParameters: ['reasoning_effort'] })).toBe(16_384)
    const thinks = { body: { reasoning_effort: 'xhigh' } }
    const claude = { upstreamName: 'claude-3-7-sonnet-20250219' }
    expect(floor(thinks, claude, { type: 'anthropic' })).toBe(32_000 + 1_024)
  })

  test('is the full bound where the client states one, or the provider takes none', () => {
    const known = { maxCompletionTokens: 64_000 }
    expect(bounds({ maxOutputTokens: 100 }, known)).toEqual({ full: 100, floor: 100 })
    expect(bounds({ maxOutputTokens: 9e5 }, known)).toEqual({ full: 64_000, floor: 64_000 })
    const none = { outputBound: 'none' } as const
    expect(bounds({}, known, none)).toEqual({ full: 64_000, floor: 64_000 })
  })
})

describe('what is sent', () => {
  const sent = (
    request: Partial<Generate>,
    card: Partial<ModelCard>,
    granted: number,
    provider: Partial<Provider> = {},
  ) => {
    const bound = boundToSend(aRequest(request), hopOf(card, provider), granted, SETTINGS)
    return [bound.sent, bound.lowered]
  }
  const known = { maxCompletionTokens: 64_000, contextLength: 200_000, isCatalogued: true }

  test('is nothing where the catalogue’s maximum bounds the answer', () => {
    expect(sent({}, known, 64_000)).toEqual([null, null])
    expect(sent({}, { ...known, isCatalogued: false }, 64_000)).toEqual([64_000, null])
  })

  test('is every bound that is lower, and it is told', () => {
    expect(sent({}, known, 5_000)).toEqual([5_000, 5_000])
    expect(sent({ maxOutputTokens: 9_000 }, known, 9_000)).toEqual([9_000, null])
    expect(sent({ maxOutputTokens: 9_000 }, known, 500)).toEqual([500, 500])
  })

  test('is never above what the context leaves, with room for a longer prompt where none is stated', () => {
    const typed = { contextLength: 32_000 }
    const text = { textBytes: 20_000 }
    expect(sent({ ...text, maxOutputTokens: 30_000 }, typed, 30_000)).toEqual([27_000, 27_000])
    expect(sent(text, typed, 32_000)).toEqual([22_000, null])
    expect(sent({ textBytes: 80_000 }, typed, 32_000)).toEqual([12_000, null])
    // A prompt that seems to be beyond it: the estimate may be wrong.
    expect(sent({ textBytes: 200_000 }, typed, 32_000)).toEqual([32_000, null])
  })

  test('is nothing to a provider that takes none', () => {
    expect(sent({ maxOutputTokens: 10 }, known, 64_000, { outputBound: 'none' })).toEqual([
      null,
      null,
    ])
  })
})

const refusalOf = (act: () => void): GatewayError | null => {
  try {
    act()
    return null
  } catch (thrown) {
    return thrown as GatewayError
  }
}

test('a file holds of the tokens a minute what it holds of the money: the model’s context', () => {
  const held = (request: Partial<Generate>, card: Partial<ModelCard>) => {
    const asked = aRequest({ textBytes: 4_000, maxOutputTokens: 100, ...request })
    const offer = offerCost(asked, hopOf(card), aVersion().prices, null, SETTINGS)
    return tokensFor([offer], null)
  }
  const card = { contextLength: 200_000, isCatalogued: true }
  expect(held({}, card)).toBe(1_100)
  expect(held({ fileBytes: 1_000, isUnbounded: true }, card)).toBe(200_100)
  expect(held({ isUnbounded: true }, card)).toBe(200_100)
  expect(held({ isUnbounded: true }, { ...card, isCatalogued: false })).toBe(201_100)
})

test('a prompt of four times the context is refused, one that may fit is not', () => {
  const check = (textBytes: number) =>
    refusalOf(() => checkContext(aRequest({ textBytes }), aCard({ contextLength: 1_000 })))
  expect(check(15_996)).toBeNull()
  const refusal = check(16_000)
  expect(refusal).toBeInstanceOf(GatewayError)
  expect(refusal?.code).toBe('context_length_exceeded')
  expect(refusal?.details.metadata).toMatchObject({ limit_value: 1_000, used: 4_000 })
})

test('a key’s limit leaves room for a thinking budget that the client states, or the request is refused', () => {
  const check = (limit: number, maxOutputTokens: number | null, body: object) =>
    refusalOf(() =>
      checkThinking(
        aRequest({ maxOutputTokens, body: { ...body } }),
        hopOf({ upstreamName: 'claude-3-7-sonnet' }, { type: 'anthropic' }),
        aKey(instant(0), { maxOutputTokens: limit }),
      ),
    )?.details.metadata?.['limit'] ?? null
  const thinking = { thinking: { type: 'enabled', budget_tokens: 5_000 } }
  expect(check(5_000, null, thinking)).toBe('max_output_tokens')
  expect(check(5_001, null, thinking)).toBeNull()
  expect(check(5_000, 5_000, thinking)).toBeNull()
  expect(check(5_000, 9_000, thinking)).toBe('max_output_tokens')
  expect(check(5_000, null, { reasoning_effort: 'max' })).toBeNull()
})
