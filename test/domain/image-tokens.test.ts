// What a drawn image takes where images are made of tokens: likely, and at most.
import { describe, expect, test } from 'vitest'
import { estimatedOutputImageTokens, maxOutputImageTokens } from '#domain/image-tokens.ts'
import { chargeFor } from '#domain/pricing.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { Meter } from '#domain/walk/meter.ts'
import { ampleHold } from '#test/support/ample-hold.ts'
import { aCard, aRequest, aVersion, perM, price, rate, usd } from '#test/support/nouns.ts'

/** What vendors say: tokens by size and quality (OpenAI's image models, Google's). */
const KNOWN: readonly (readonly [string | undefined, string | undefined, number])[] = [
  ['1024x1024', 'low', 272],
  ['1024x1536', 'low', 408],
  ['1536x1024', 'low', 400],
  ['1024x1024', 'medium', 1_056],
  ['1024x1536', 'medium', 1_584],
  ['1024x1024', 'high', 4_160],
  ['1024x1536', 'high', 6_240],
  [undefined, 'high', 6_240],
  ['auto', undefined, 6_240],
  ['1024x1024', 'high', 7_024],
  ['1536x1024', 'high', 5_488],
  ['3584x2048', 'high', 12_329],
  ['2880x2880', 'high', 23_718],
  ['4K', undefined, 2_000],
  [undefined, undefined, 1_290],
]

test.each(KNOWN)('an image of %s, %s: %i is within the most', (resolution, quality, tokens) => {
  expect(maxOutputImageTokens({ resolution, quality })).toBeGreaterThanOrEqual(tokens)
})

test.each([
  ['low', 272],
  ['medium', 1_056],
  ['high', 4_160],
  ['hd', 1_290],
  [undefined, 1_290],
])('of quality %s it is likely to take %i, never more than the most', (quality, tokens) => {
  const choice = { resolution: '1024x1024', quality }
  expect(estimatedOutputImageTokens(choice)).toBe(tokens)
  expect(maxOutputImageTokens(choice)).toBeGreaterThanOrEqual(tokens)
})

describe('a hold', () => {
  const version = aVersion({
    prompt: price('0'),
    completion: perM('10'),
    imageOutputToken: perM('40'),
  })
  const image = { resolution: '1024x1536', quality: 'high' }
  const asking = { wantsImages: true, image, choices: 2, textBytes: 0 }

  test('covers each image drawn by token, also where the client bounds its words', () => {
    const usage = { ...NO_USAGE, imageOutputTokens: 12_480, outputImages: 2 }
    const { amount } = chargeFor(usage, version, rate('90'), 'provider', image)
    expect(amount).toBe(usd('0.4992'))
    const hold = (maxOutputTokens: number | null) =>
      ampleHold(aRequest({ ...asking, maxOutputTokens }), aCard(), version)
    expect(hold(null)).toBe(usd('0.90512'))
    expect(hold(10)).toBe(usd('0.65876'))
  })

  test('is that of the words alone where no image is asked for', () => {
    const hold = (more: object) => ampleHold(aRequest({ ...asking, ...more }), aCard(), version)
    expect(hold({ maxOutputTokens: 10, wantsImages: false })).toBe(usd('0.0002'))
  })

  test('of a piece counts no tokens for it', () => {
    const pieces = aVersion({
      prompt: price('0'),
      completion: perM('10'),
      imagePrices: [{ resolution: '*', quality: '*', usd: price('0.04') }],
    })
    const request = aRequest({ ...asking, maxOutputTokens: 10 })
    expect(ampleHold(request, aCard(), pieces)).toBe(usd('0.0802'))
  })

  test('covers an image to look at or to draw from, at full detail', () => {
    const seen = aVersion({ prompt: perM('1'), completion: price('0') })
    const hold = (wantsImages: boolean) =>
      ampleHold(aRequest({ textBytes: 0, inputImages: 1, wantsImages }), aCard(), seen)
    expect(hold(true)).toBe(usd('0.008012'))
    expect(hold(false)).toBe(usd('0.008012'))
  })
})

describe('an estimate', () => {
  const meter = (quality?: string) =>
    new Meter(
      aRequest({ wantsImages: true, image: { resolution: undefined, quality } }),
      aCard(),
      Number.POSITIVE_INFINITY,
    )

  test('of an image that was left behind goes by the quality asked for', () => {
    expect(meter('high').readAfterDisconnect().usage.imageOutputTokens).toBe(4_160)
    expect(meter('low').readAfterDisconnect().usage.imageOutputTokens).toBe(272)
    expect(meter().readAfterDisconnect().usage.imageOutputTokens).toBe(1_290)
  })

  test('of one that came uncounted goes by the quality drawn, where it is told', () => {
    const drawn = { resolution: undefined, quality: 'low' }
    const told = meter('high')
    told.note([{ type: 'image', choice: 0, url: 'data:,', drawn }])
    expect(told.read().usage.imageOutputTokens).toBe(272)
    const silent = meter('high')
    silent.note([{ type: 'image', choice: 0, url: 'data:,' }])
    expect(silent.read().usage.imageOutputTokens).toBe(4_160)
  })
})
