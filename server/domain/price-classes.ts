/** The classes of usage that are priced: the count of units, and the price of one. */
import type { Charge } from './ledger.ts'
import type { ImagePrice, Prices, PriceTier } from './model-card.ts'
import { FREE, type UsdAttos } from './money.ts'
import type { ImageChoice } from './pricing.ts'
import type { Usage } from './usage.ts'

export interface PriceClass {
  /** As a receipt names it. */
  readonly name: string
  readonly unit: 'token' | 'image' | 'request'
  /** The part of a charge that it belongs to. */
  readonly part: keyof Charge['parts']
  count(usage: Usage): number
  /** The price of one unit; `tier` has the prices for a prompt of this size. */
  price(tier: Prices | PriceTier, prices: Prices, image: ImageChoice): UsdAttos
}

const priceClass = (
  name: string,
  unit: PriceClass['unit'],
  part: PriceClass['part'],
  count: PriceClass['count'],
  price: PriceClass['price'],
): PriceClass => ({ name, unit, part, count, price })

/** Images are priced per image or per token, never both. */
const isByPiece = ({ imagePrices }: Prices): boolean => imagePrices.length > 0

/** A charge sums these classes, and a receipt lists them. */
export const PRICE_CLASSES: readonly PriceClass[] = [
  priceClass(
    'input_tokens',
    'token',
    'prompt',
    ({ inputTokens }) => inputTokens,
    ({ prompt }) => prompt,
  ),
  priceClass(
    'cache_read_tokens',
    'token',
    'prompt',
    ({ cacheReadTokens }) => cacheReadTokens,
    ({ cacheRead, prompt }) => cacheRead ?? prompt,
  ),
  priceClass(
    'cache_write_tokens',
    'token',
    'prompt',
    ({ cacheWriteTokens }) => cacheWriteTokens,
    ({ cacheWrite, prompt }) => cacheWrite ?? prompt,
  ),
  priceClass(
    'image_input_tokens',
    'token',
    'prompt',
    ({ imageInputTokens }) => imageInputTokens,
    ({ prompt }, { imageInputToken }) => imageInputToken ?? prompt,
  ),
  priceClass(
    'input_images',
    'image',
    'prompt',
    ({ inputImages }) => inputImages,
    (_, { inputImage }) => inputImage,
  ),
  priceClass(
    'requests',
    'request',
    'prompt',
    () => 1,
    (_, { request }) => request,
  ),
  priceClass(
    'output_tokens',
    'token',
    'completion',
    ({ outputTokens }) => outputTokens,
    ({ completion }) => completion,
  ),
  priceClass(
    'image_output_tokens',
    'token',
    'images',
    ({ imageOutputTokens }) => imageOutputTokens,
    ({ completion }, prices) =>
      isByPiece(prices) ? FREE : (prices.imageOutputToken ?? completion),
  ),
  priceClass(
    'output_images',
    'image',
    'images',
    ({ outputImages }) => outputImages,
    (_, { imagePrices }, image) => pricePerImage(imagePrices, image),
  ),
]

/**
 * The price of one image by resolution and quality; a wildcard or an unstated value matches anything. Of several matches the
 * highest price is taken, so that a hold is never too small.
 */
export function pricePerImage(list: readonly ImagePrice[], choice: ImageChoice): UsdAttos {
  const fits = (wanted: string | undefined, offered: string): boolean =>
    offered === '*' || wanted === undefined || wanted === offered
  const matching = list.filter(
    (entry) => fits(choice.resolution, entry.resolution) && fits(choice.quality, entry.quality),
  )
  const candidates = matching.length > 0 ? matching : list
  return candidates.reduce((most, { usd }) => (usd > most ? usd : most), 0n as UsdAttos)
}

/** The prices that apply to a prompt of this size. */
export function tierFor(prices: Prices, prompt: number): Prices | PriceTier {
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
