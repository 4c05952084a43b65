// A charge multiplies first and rounds once; a hold is never smaller than the charge it stands for.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxOutputImageTokens } from '#domain/image-tokens.ts'
import type { ModelCard, Prices } from '#domain/model-card.ts'
import { type ImageChoice, pricingModel } from '#domain/model-card.ts'
import { MAX_USD_NANOS, type UsdAttos } from '#domain/money.ts'
import { type ChargeLine, chargedImage, chargeFor, chargeLines } from '#domain/pricing.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { ampleHold } from '#test/support/ample-hold.ts'
import {
  aCard,
  aPriceList,
  aRequest,
  aVersion,
  perM,
  price,
  rate,
  usd,
} from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'

const RATE = rate('90')
const ANY: ImageChoice = { resolution: undefined, quality: undefined }

const amountOf = (usage: Partial<Usage>, prices: Partial<Prices> = {}, image = ANY) =>
  chargeFor({ ...NO_USAGE, ...usage }, aVersion(prices), RATE, 'provider', image).amount

describe('a charge', () => {
  test('22 in at $2.5/M and 3 out at $10/M are 85 000 nano-dollars', () => {
    expect(amountOf({ inputTokens: 22, outputTokens: 3 })).toBe(85_000n)
  })

  test('names its version, its rate, its source and its ruble view', () => {
    const version = aVersion()
    const usage = { ...NO_USAGE, inputTokens: 22, outputTokens: 3 }
    expect(chargeFor(usage, version, RATE, 'estimated', ANY)).toEqual({
      amount: 85_000n,
      rubPerUsd: 90_000_000n,
      costRub: 7_650n,
      priceVersion: version.id,
      usage,
      modifiers: [],
      source: 'estimated',
      parts: { prompt: price('0.000055'), completion: price('0.00003'), images: 0n, tools: 0n },
    })
  })

  test('every cache class is priced once, at its own price or at the prompt’s', () => {
    const usage = { inputTokens: 1_000, cacheReadTokens: 2_000, cacheWriteTokens: 4_000 }
    expect(amountOf(usage)).toBe(usd('0.0175'))
    expect(amountOf(usage, { cacheRead: perM('0.25'), cacheWrite: perM('3.125') })).toBe(
      usd('0.0155'),
    )
    expect(amountOf({ cacheReadTokens: 1_000 }, { cacheRead: perM('0') })).toBe(0n)
  })

  test('reasoning is part of the output, not beside it', () => {
    expect(amountOf({ outputTokens: 10, reasoningTokens: 9 })).toBe(amountOf({ outputTokens: 10 }))
  })

  test('a request and an input image have prices of their own', () => {
    const prices = { request: price('0.001'), inputImage: price('0.002') }
    expect(amountOf({}, prices)).toBe(usd('0.001'))
    expect(amountOf({ inputImages: 3 }, prices)).toBe(usd('0.007'))
  })

  test('a tier holds for the whole prompt once the prompt is larger than its bound', () => {
    const tier = { completion: perM('20'), cacheRead: null, cacheWrite: null, cacheWrite1h: null }
    const tiers = [
      { ...tier, aboveTokens: 400, prompt: perM('8') },
      { ...tier, aboveTokens: 200, prompt: perM('5') },
    ]
    expect(amountOf({ inputTokens: 200 }, { tiers })).toBe(usd('0.0005'))
    expect(amountOf({ inputTokens: 201 }, { tiers })).toBe(usd('0.001005'))
    expect(amountOf({ inputTokens: 100, cacheReadTokens: 101 }, { tiers })).toBe(usd('0.001005'))
    expect(amountOf({ inputTokens: 401 }, { tiers })).toBe(usd('0.003208'))
    expect(amountOf({ inputTokens: 401, outputTokens: 1 }, { tiers })).toBe(usd('0.003228'))
  })

  test('images by piece: resolution and quality choose, and nothing else is counted', () => {
    const prices = aPriceList({
      prompt: price('0'),
      completion: price('0'),
      imagePrices: [
        { resolution: '1024x1024', quality: 'medium', usd: price('0.039') },
        { resolution: '1024x1024', quality: 'high', usd: price('0.12') },
        { resolution: '2048x2048', quality: '*', usd: price('0.3') },
      ],
    })
    const choose = (resolution?: string, quality?: string) =>
      amountOf({ inputTokens: 50, imageOutputTokens: 1_290, outputImages: 2 }, prices, {
        resolution,
        quality,
      })
    expect(pricingModel(prices)).toBe('per_image')
    expect(choose('1024x1024', 'medium')).toBe(usd('0.078'))
    expect(choose('1024x1024', 'high')).toBe(usd('0.24'))
    expect(choose('2048x2048', 'low')).toBe(usd('0.6'))
    // Unsaid, or not on the list: the dearest that may be meant.
    expect(choose('1024x1024')).toBe(usd('0.24'))
    expect(choose()).toBe(usd('0.6'))
    expect(choose('512x512', 'low')).toBe(usd('0.6'))
  })

  test('what was drawn is charged, side by side, as far as the price list knows it', () => {
    const entry = (resolution: string, quality: string) => ({
      resolution,
      quality,
      usd: price('1'),
    })
    const list = [entry('1024x1024', 'low'), entry('2048x2048', 'high')]
    const asked = { resolution: '1024x1024', quality: 'low' }
    const choose = (resolution?: string, quality?: string) =>
      chargedImage(list, asked, { resolution, quality })
    expect(choose()).toEqual(asked)
    expect(choose('2048x2048', 'high')).toEqual({ resolution: '2048x2048', quality: 'high' })
    expect(choose('2048x2048', 'sublime')).toEqual({ resolution: '2048x2048', quality: 'low' })
    expect(choose('1254x1254', 'high')).toEqual({ resolution: '1024x1024', quality: 'high' })
    expect(chargedImage([], asked, ANY)).toEqual(asked)
  })

  test('images by token: at their own price, or at the completion’s', () => {
    const usage = { imageOutputTokens: 1_290, outputImages: 1 }
    expect(amountOf(usage, { imageOutputToken: perM('30') })).toBe(usd('0.0387'))
    expect(amountOf(usage)).toBe(usd('0.0129'))
    expect(pricingModel(aPriceList())).toBe('per_token')
  })

  test('tokens of images in the prompt: at their own price, or at the tier’s for text', () => {
    const usage = { inputTokens: 100, cacheReadTokens: 60, imageInputTokens: 40 }
    const cached = { cacheRead: perM('1') }
    expect(amountOf(usage, { ...cached, imageInputToken: perM('8') })).toBe(usd('0.00063'))
    expect(amountOf(usage, cached)).toBe(usd('0.00041'))
    // They make a prompt larger, and a larger prompt may be dearer.
    const tier = {
      completion: perM('20'),
      cacheRead: perM('2'),
      cacheWrite: null,
      cacheWrite1h: null,
    }
    const tiers = [{ ...tier, aboveTokens: 199, prompt: perM('5') }]
    expect(amountOf(usage, { ...cached, tiers })).toBe(usd('0.00082'))
    expect(amountOf(usage, { ...cached, tiers, imageInputToken: perM('8') })).toBe(usd('0.00094'))
    expect(amountOf({ ...usage, inputTokens: 99 }, { ...cached, tiers })).toBe(usd('0.0004075'))
  })

  test('mixed: text by tokens, images by piece', () => {
    const prices = aPriceList({
      imagePrices: [{ resolution: '*', quality: '*', usd: price('0.04') }],
    })
    expect(pricingModel(prices)).toBe('mixed')
    expect(amountOf({ inputTokens: 22, outputTokens: 3, outputImages: 1 }, prices)).toBe(
      usd('0.040085'),
    )
  })

  test('is rounded exactly once, after every multiplication', () => {
    // Each part alone rounds to nothing; together they are half a nano-dollar, and round up.
    const fifth = price('0.0000000001')
    const prices = {
      prompt: fifth,
      completion: fifth,
      cacheRead: fifth,
      request: fifth,
      inputImage: fifth,
    }
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 1, inputImages: 1 }
    expect(amountOf(usage, prices)).toBe(1n)
    expect(amountOf({ ...usage, outputTokens: 0 }, prices)).toBe(0n)
  })

  test('T17: stays within what a ledger can hold, however absurd the count', () => {
    const usage = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: Number.MAX_SAFE_INTEGER }
    expect(amountOf(usage, { prompt: price('999999999999999') })).toBe(MAX_USD_NANOS)
  })
})

const anAttoPrice = fc.bigInt({ min: 0n, max: 10n ** 15n }).map((amount) => amount as UsdAttos)
const maybePrice = fc.option(anAttoPrice, { nil: null })
const aTier = fc.record({
  aboveTokens: fc.nat(20_000),
  prompt: anAttoPrice,
  completion: anAttoPrice,
  cacheRead: maybePrice,
  cacheWrite: maybePrice,
  cacheWrite1h: maybePrice,
})
const aSide = fc.constantFrom('*', 'small', 'large')
const aWish = fc.constantFrom(undefined, 'small', 'large', 'huge')
const aTool = fc.constantFrom('web_search', 'code_execution')
const aList: fc.Arbitrary<Prices> = fc.record({
  prompt: anAttoPrice,
  completion: anAttoPrice,
  cacheRead: maybePrice,
  cacheWrite: maybePrice,
  cacheWrite1h: maybePrice,
  request: anAttoPrice,
  searchUnit: anAttoPrice,
  inputImage: anAttoPrice,
  imageInputToken: maybePrice,
  imageOutputToken: maybePrice,
  imagePrices: fc.array(fc.record({ resolution: aSide, quality: aSide, usd: anAttoPrice }), {
    maxLength: 4,
  }),
  tiers: fc.array(aTier, { maxLength: 3 }),
  serverTools: fc.uniqueArray(fc.record({ tool: aTool, usd: anAttoPrice }), {
    selector: ({ tool }) => tool,
  }),
  modifiers: fc.constant([]),
})
const aChoice: fc.Arbitrary<ImageChoice> = fc.record({ resolution: aWish, quality: aWish })

/** The same bill, written down as a list of lines over one common denominator. */
function billInNanos(usage: Usage, prices: Prices, choice: ImageChoice): bigint {
  const prompt =
    usage.inputTokens +
    usage.cacheReadTokens +
    usage.cacheWriteTokens +
    usage.cacheWrite1hTokens +
    usage.imageInputTokens
  const tier = prices.tiers
    .filter((one) => one.aboveTokens < prompt)
    .sort(
      (a, b) => a.aboveTokens - b.aboveTokens || prices.tiers.indexOf(b) - prices.tiers.indexOf(a),
    )
    .at(-1)
  const { prompt: input, completion, cacheRead, cacheWrite, cacheWrite1h } = tier ?? prices
  const suits = (wish: string | undefined, side: string) => !wish || side === '*' || side === wish
  const suiting = prices.imagePrices.filter(
    (one) => suits(choice.resolution, one.resolution) && suits(choice.quality, one.quality),
  )
  const piece = (suiting.length ? suiting : prices.imagePrices)
    .map((one): bigint => one.usd)
    .sort((a, b) => (a < b ? -1 : 1))
    .at(-1)
  const lines: [count: number, each: bigint][] = [
    [1, prices.request],
    [usage.inputTokens, input],
    [usage.cacheReadTokens, cacheRead === null ? input : cacheRead],
    [usage.cacheWriteTokens, cacheWrite === null ? input : cacheWrite],
    [usage.cacheWrite1hTokens, [cacheWrite1h, cacheWrite, input].find((one) => one !== null) ?? 0n],
    ...prices.serverTools.map(({ tool, usd }): [number, bigint] => [
      usage.serverCalls?.[tool] ?? 0,
      usd,
    ]),
    [usage.imageInputTokens, prices.imageInputToken === null ? input : prices.imageInputToken],
    [usage.outputTokens, completion],
    [usage.inputImages, prices.inputImage],
    [usage.searchUnits, prices.searchUnit],
    piece === undefined
      ? [usage.imageOutputTokens, prices.imageOutputToken ?? completion]
      : [usage.outputImages, piece],
  ]
  const total = lines.reduce((sum, [count, each]) => sum + BigInt(count) * each, 0n)
  // Twice the sum plus one nano-dollar, halved towards zero, is half up.
  return (2n * total + 10n ** 9n) / (2n * 10n ** 9n)
}

const someUsage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: fc.nat(30_000),
  cacheReadTokens: fc.nat(30_000),
  cacheWriteTokens: fc.nat(30_000),
  cacheWrite1hTokens: fc.nat(30_000),
  imageInputTokens: fc.nat(30_000),
  outputTokens: fc.nat(30_000),
  reasoningTokens: fc.nat(30_000),
  imageOutputTokens: fc.nat(5_000),
  inputImages: fc.nat(16),
  outputImages: fc.nat(4),
  searchUnits: fc.nat(40),
  serverCalls: fc.option(fc.dictionary(aTool, fc.nat(50), { maxKeys: 2 })),
})

test('any usage at any price list costs what an independent bill says', () => {
  fc.assert(
    fc.property(someUsage, aList, aChoice, (usage, prices, choice) => {
      expect(amountOf(usage, prices, choice)).toBe(billInNanos(usage, prices, choice))
    }),
    { numRuns: FULL ? 1_000 : 100 },
  )
})

describe('the lines of a charge', () => {
  test('name what was counted, also where it was free, and nothing else', () => {
    const prices = { request: price('0.001'), imagePrices: [{ ...ANY_SIZE, usd: price('0.04') }] }
    const usage = {
      ...NO_USAGE,
      inputTokens: 22,
      outputTokens: 3,
      imageOutputTokens: 1_290,
      outputImages: 2,
    }
    expect(chargeLines(usage, aVersion(prices), ANY)).toEqual([
      line('input_tokens', 'token', 22, perM('2.5'), price('0.000055')),
      line('requests', 'request', 1, price('0.001'), price('0.001')),
      line('output_tokens', 'token', 3, perM('10'), price('0.00003')),
      line('image_output_tokens', 'token', 1_290, price('0'), price('0')),
      line('output_images', 'image', 2, price('0.04'), price('0.08')),
    ])
    expect(chargeLines(NO_USAGE, aVersion(), ANY)).toEqual([])
  })

  test('add up to the charge, to the last atto-dollar', () => {
    fc.assert(
      fc.property(someUsage, aList, aChoice, (usage, prices, choice) => {
        const { parts } = chargeFor(usage, aVersion(prices), RATE, 'provider', choice)
        const lines = chargeLines(usage, aVersion(prices), choice)
        const sum = lines.reduce((total, { amount }) => total + amount, 0n)
        expect(sum).toBe(parts.prompt + parts.completion + parts.images + parts.tools)
      }),
      { numRuns: FULL ? 1_000 : 100 },
    )
  })
})

const ANY_SIZE = { resolution: '*', quality: '*' }

const line = (
  name: string,
  unit: ChargeLine['unit'],
  count: number,
  unitPrice: UsdAttos,
  amount: UsdAttos,
): ChargeLine => ({ name, unit, count, unitPrice, amount })

describe('a hold', () => {
  test('for a file that is only named is that of all that the model reads', () => {
    const prices = aVersion({ prompt: perM('1'), completion: price('0') })
    const hold = (contextLength: number | null, isUnbounded: boolean, isCatalogued = true) =>
      ampleHold(
        aRequest({ textBytes: 100, ...(isUnbounded && { isUnbounded: true }) }),
        aCard({ contextLength, isCatalogued }),
        prices,
      )
    expect(hold(200_000, true)).toBe(usd('0.2'))
    expect(hold(200_000, true, false)).toBe(usd('0.200612'))
    expect(hold(null, true)).toBe(usd('1.000612'))
    expect(hold(200_000, false)).toBeLessThan(usd('0.01'))
  })

  test('takes the least of the client’s bound and the model’s', () => {
    const hold = (maxOutputTokens: number | null, maxCompletionTokens: number | null) =>
      ampleHold(
        aRequest({ textBytes: 0, maxOutputTokens }),
        aCard({ maxCompletionTokens }),
        aVersion({ prompt: price('0'), completion: perM('1') }),
      )
    expect(hold(100, null)).toBe(usd('0.0001'))
    expect(hold(9_000, 8_192)).toBe(usd('0.008192'))
    expect(hold(2_000_000_000, 100)).toBe(usd('0.0001'))
    expect(hold(null, 2_048)).toBe(usd('0.002048'))
    expect(hold(null, 64_000)).toBe(usd('0.064'))
    expect(hold(null, null)).toBe(usd('0.004096'))
    expect(hold(9_000, null)).toBe(usd('0.004096'))
  })

  test('is bounded by a context of the catalogue, if the prompt seems to be within it', () => {
    const hold = (textBytes: number, isCatalogued: boolean) =>
      ampleHold(
        aRequest({ textBytes, maxOutputTokens: 0 }),
        aCard({ contextLength: 32_768, isCatalogued }),
        aVersion({ prompt: perM('1') }),
      )
    expect(hold(100_000, true)).toBe(usd('0.032768'))
    expect(hold(100_000, false)).toBe(usd('0.100512'))
    expect(hold(140_000, true)).toBe(usd('0.140512'))
  })

  test('takes a prompt for images where their tokens are dearer than words', () => {
    const hold = (more: Partial<Prices>) =>
      ampleHold(
        aRequest({ textBytes: 488, inputImages: 1, maxOutputTokens: 0 }),
        aCard(),
        aVersion({ prompt: perM('1'), ...more }),
      )
    expect(hold({})).toBe(usd('0.0085'))
    expect(hold({ imageInputToken: perM('2') })).toBe(usd('0.017'))
    expect(hold({ imageInputToken: perM('0.5') })).toBe(usd('0.0085'))
  })

  test('takes an image as its model is billed for it, beside the context where it is only billed', () => {
    const hold = (card: Partial<ModelCard>, isUnbounded = false) =>
      ampleHold(
        aRequest({
          textBytes: 488,
          inputImages: 2,
          maxOutputTokens: 0,
          ...(isUnbounded && { isUnbounded: true }),
        }),
        aCard({ isCatalogued: true, ...card }),
        aVersion({ prompt: perM('1') }),
      )
    expect(hold({ upstreamName: 'gpt-4o', contextLength: 10_000 })).toBe(usd('0.01'))
    const mini = { upstreamName: 'gpt-4o-mini-2024-07-18', contextLength: 10_000 }
    expect(hold(mini)).toBe(usd('0.097338'))
    expect(hold(mini, true)).toBe(usd('0.106338'))
    // A deployment has a name of its own; its model is called by what it is.
    expect(hold({ id: 'azure/gpt-4o-mini', upstreamName: 'eyes' })).toBe(usd('0.097338'))
  })

  test('counts every choice and every image asked for', () => {
    const version = aVersion({
      prompt: price('0'),
      completion: perM('1'),
      imagePrices: [{ resolution: '*', quality: '*', usd: price('0.04') }],
    })
    const request = aRequest({
      textBytes: 0,
      maxOutputTokens: 1_000,
      choices: 3,
      wantsImages: true,
    })
    expect(ampleHold(request, aCard(), version)).toBe(usd('0.123'))
  })

  test('looks at a middle tier that is dearer than the first and the last', () => {
    const version = aVersion({
      prompt: perM('1'),
      tiers: [
        {
          aboveTokens: 100,
          prompt: perM('9'),
          completion: perM('90'),
          cacheRead: null,
          cacheWrite: null,
          cacheWrite1h: null,
        },
        {
          aboveTokens: 1_000,
          prompt: perM('2'),
          completion: perM('2'),
          cacheRead: null,
          cacheWrite: null,
          cacheWrite1h: null,
        },
      ],
    })
    const request = aRequest({ textBytes: 1_000, maxOutputTokens: 10 })
    const charge = chargeFor(
      { ...NO_USAGE, inputTokens: 900, outputTokens: 10 },
      version,
      RATE,
      'provider',
      ANY,
    )
    expect(ampleHold(request, aCard(), version) >= charge.amount).toBe(true)
  })

  test('is an upper bound of the charge for any usage within its bounds', () => {
    const aCase = fc.record({
      prices: aList,
      image: aChoice,
      textBytes: fc.nat(20_000),
      inputImages: fc.nat(16),
      choices: fc.integer({ min: 1, max: 4 }),
      maxOutputTokens: fc.option(fc.nat(10_000), { nil: null }),
      isCatalogued: fc.boolean(),
      maxCompletionTokens: fc.option(fc.integer({ min: 1, max: 9_000 }), { nil: null }),
      contextLength: fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: null }),
      wantsImages: fc.boolean(),
      shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 7, maxLength: 7 }),
    })
    fc.assert(
      fc.property(aCase, (one) => {
        const [fill = 0, read = 0, write = 0, seen = 0, spoken = 0, drawn = 0, pieces = 0] =
          one.shares
        const isWithin = one.isCatalogued && one.textBytes / 4 <= (one.contextLength ?? 0)
        const room = Math.min(
          one.textBytes + 512 + 3_000 * one.inputImages,
          isWithin ? (one.contextLength ?? 1e9) : 1e9,
        )
        const prompt = Math.floor(room * fill)
        const cacheReadTokens = Math.floor(prompt * read)
        const cacheWriteTokens = Math.floor((prompt - cacheReadTokens) * write)
        const uncached = prompt - cacheReadTokens - cacheWriteTokens
        const imageInputTokens = Math.floor(uncached * seen)
        const ofCard = one.maxCompletionTokens ?? one.contextLength ?? 4_096
        const bound = Math.min(one.maxOutputTokens ?? ofCard, ofCard)
        const output = Math.floor(bound * one.choices * spoken)
        const imageOutputTokens = one.wantsImages
          ? Math.floor(maxOutputImageTokens(one.image) * one.choices * drawn)
          : 0
        const usage: Usage = {
          inputTokens: uncached - imageInputTokens,
          cacheReadTokens,
          cacheWriteTokens,
          cacheWrite1hTokens: 0,
          imageInputTokens,
          outputTokens: output,
          reasoningTokens: 0,
          imageOutputTokens,
          inputImages: one.inputImages,
          outputImages: one.wantsImages ? Math.round(one.choices * pieces) : 0,
          searchUnits: 0,
          serverCalls: null,
        }
        const { prices, ...card } = one
        const version = aVersion(prices)
        const charge = chargeFor(usage, version, RATE, 'provider', one.image)
        const hold = ampleHold(aRequest(one), aCard(card), version)
        expect(charge.amount <= hold, `${charge.amount} <= ${hold}`).toBe(true)
      }),
      { numRuns: FULL ? 2_000 : 200 },
    )
  })
})
