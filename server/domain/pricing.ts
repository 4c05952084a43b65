/** Units times prices: what a request may cost at most, and what it did cost. Multiplied first, rounded once. */
import type { ChatRequest } from './chat.ts'
import type { Charge, UsageSource } from './ledger.ts'
import type { ImagePrice, ModelCard, Prices, PriceTier, PriceVersion } from './model-card.ts'
import {
  MOST_USD_NANOS,
  type RubPerUsd,
  roundToNanos,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from './money.ts'
import { promptTokens, type Usage } from './usage.ts'

/** Which picture the client asked for, as the price list names it; undefined where it did not say. */
export interface ImageChoice {
  readonly resolution: string | undefined
  readonly quality: string | undefined
}

/** A provider wraps a prompt in a template of its own (role marks, tool instructions); this covers it. */
const TEMPLATE_TOKENS = 512
/** The most tokens that a provider charges for one input picture at full detail. */
const TOKENS_PER_INPUT_IMAGE = 3_000

const units = (count: number): bigint => BigInt(count)

/** Rounds once, and keeps an absurd count of tokens within what a ledger can hold. */
function toAmount(sum: bigint): UsdNanos {
  const amount = roundToNanos(sum as UsdAttos)
  return amount > MOST_USD_NANOS ? MOST_USD_NANOS : amount
}

/**
 * The price of one picture: the entry that names its resolution and quality; a wildcard or an unstated side matches
 * anything. Of several the dearest is taken, so that a hold is never too small.
 */
function pricePerImage(list: readonly ImagePrice[], choice: ImageChoice): UsdAttos {
  const fits = (wanted: string | undefined, offered: string): boolean =>
    offered === '*' || wanted === undefined || wanted === offered
  const matching = list.filter(
    (entry) => fits(choice.resolution, entry.resolution) && fits(choice.quality, entry.quality),
  )
  const candidates = matching.length > 0 ? matching : list
  return candidates.reduce((most, { usd }) => (usd > most ? usd : most), 0n as UsdAttos)
}

/** Which picture is charged: the one that was drawn where the price list knows it, else the one that was asked for. */
export function choiceDrawn(
  list: readonly ImagePrice[],
  asked: ImageChoice,
  drawn: ImageChoice,
): ImageChoice {
  const isListed = (side: 'resolution' | 'quality'): boolean =>
    list.some((entry) => entry[side] === drawn[side])
  return {
    resolution: isListed('resolution') ? drawn.resolution : asked.resolution,
    quality: isListed('quality') ? drawn.quality : asked.quality,
  }
}

/** The prices that hold for a prompt of this size. */
function tierFor(prices: Prices, prompt: number): Prices | PriceTier {
  let found: Prices | PriceTier = prices
  let above = -1
  for (const tier of prices.tiers) {
    if (prompt > tier.aboveTokens && tier.aboveTokens > above) {
      found = tier
      above = tier.aboveTokens
    }
  }
  return found
}

/** What `usage` costs at `version`, in both currencies. @example 22 in × $2.5/M + 3 out × $10/M = 85_000 nano-dollars */
export function chargeFor(
  usage: Usage,
  version: PriceVersion,
  rubPerUsd: RubPerUsd,
  source: UsageSource,
  image: ImageChoice,
): Charge {
  const { prices } = version
  const tier = tierFor(prices, promptTokens(usage))
  const prompt =
    units(usage.inputTokens) * tier.prompt +
    units(usage.cacheReadTokens) * (tier.cacheRead ?? tier.prompt) +
    units(usage.cacheWriteTokens) * (tier.cacheWrite ?? tier.prompt) +
    units(usage.inputImages) * prices.inputImage +
    prices.request
  const byPiece = prices.imagePrices.length > 0
  const completion = units(usage.outputTokens) * tier.completion
  const images = byPiece
    ? units(usage.outputImages) * pricePerImage(prices.imagePrices, image)
    : units(usage.imageOutputTokens) * (prices.imageOutputToken ?? tier.completion)
  const amount = toAmount(prompt + completion + images)
  return {
    amount,
    rubPerUsd,
    costRub: toRub(amount, rubPerUsd),
    priceVersion: version.id,
    usage,
    source,
    parts: {
      prompt: prompt as UsdAttos,
      completion: completion as UsdAttos,
      images: images as UsdAttos,
    },
  }
}

const dearest = (...prices: readonly (UsdAttos | null)[]): bigint =>
  prices.reduce<bigint>((most, price) => (price !== null && price > most ? price : most), 0n)

/**
 * The upper bound that a request holds: no tokenizer makes more tokens than the text has bytes, no prompt is larger than
 * the model's context, and every class is taken at the dearest price that could apply (contract §8).
 */
export function holdFor(
  request: ChatRequest,
  card: ModelCard,
  version: PriceVersion,
  reserveOutputTokens: number,
): UsdNanos {
  const { prices } = version
  const bytes = request.textBytes + TEMPLATE_TOKENS + request.inputImages * TOKENS_PER_INPUT_IMAGE
  const input = Math.min(bytes, card.contextLength ?? bytes)
  // The prompt may turn out smaller than its bound, and a smaller one may fall into a dearer tier.
  const tiers = [prices, ...prices.tiers.filter(({ aboveTokens }) => input > aboveTokens)]
  const promptPrice = dearest(
    ...tiers.flatMap(({ prompt, cacheRead, cacheWrite }) => [prompt, cacheRead, cacheWrite]),
  )
  const completionPrice = dearest(
    prices.imageOutputToken,
    ...tiers.map(({ completion }) => completion),
  )
  const output = outputBound(request, card, reserveOutputTokens) * request.choices
  const images = request.wantsImages ? Math.max(1, request.choices) : 0
  return toAmount(
    units(input) * promptPrice +
      units(output) * completionPrice +
      units(request.inputImages) * prices.inputImage +
      units(images) * pricePerImage(prices.imagePrices, request.image) +
      prices.request,
  )
}

function outputBound(request: ChatRequest, card: ModelCard, reserveOutputTokens: number): number {
  if (request.maxOutputTokens !== null) return request.maxOutputTokens
  return Math.min(card.maxCompletionTokens ?? reserveOutputTokens, reserveOutputTokens)
}
