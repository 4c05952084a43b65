/** Units times prices: what a request may cost at most, and what it did cost. Multiplied first, rounded once. */
import type { ChatRequest } from './chat.ts'
import { mostDrawnTokens } from './drawn-tokens.ts'
import type { Charge, UsageSource } from './ledger.ts'
import type { ImagePrice, ModelCard, Prices, PriceTier, PriceVersion } from './model-card.ts'
import {
  FREE,
  MOST_USD_NANOS,
  type RubPerUsd,
  roundToNanos,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from './money.ts'
import { PRICE_CLASSES, type PriceClass, pricePerImage, tierFor } from './price-classes.ts'
import { seenTokensOf } from './seen-tokens.ts'
import { promptTokens, type Usage } from './usage.ts'

/** Which picture the client asked for, as the price list names it; undefined where it did not say. */
export interface ImageChoice {
  readonly resolution: string | undefined
  readonly quality: string | undefined
}

/** Nothing was chosen, or nothing is known of it. */
export const ANY_IMAGE: ImageChoice = { resolution: undefined, quality: undefined }

/** A provider wraps a prompt in a template of its own (role marks, tool instructions); this covers it. */
const TEMPLATE_TOKENS = 512

const units = (count: number): bigint => BigInt(count)

/** Rounds once, and keeps an absurd count of tokens within what a ledger can hold. */
function toAmount(sum: bigint): UsdNanos {
  const amount = roundToNanos(sum as UsdAttos)
  return amount > MOST_USD_NANOS ? MOST_USD_NANOS : amount
}

/** Which picture is charged: the one that was drawn where the price list knows it, else the one that was asked for. */
export function choiceDrawn(
  list: readonly ImagePrice[],
  asked: ImageChoice,
  drawn: ImageChoice,
): ImageChoice {
  if (list.length === 0) return asked
  const isListed = (side: 'resolution' | 'quality'): boolean =>
    list.some((entry) => entry[side] === drawn[side])
  return {
    resolution: isListed('resolution') ? drawn.resolution : asked.resolution,
    quality: isListed('quality') ? drawn.quality : asked.quality,
  }
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
  const parts = { prompt: FREE, completion: FREE, images: FREE }
  for (const { part, count, price } of PRICE_CLASSES) {
    const counted = count(usage)
    const each = counted > 0 ? price(tier, prices, image) : FREE
    if (each !== FREE) parts[part] = (parts[part] + units(counted) * each) as UsdAttos
  }
  const amount = toAmount(parts.prompt + parts.completion + parts.images)
  return {
    amount,
    rubPerUsd,
    costRub: toRub(amount, rubPerUsd),
    priceVersion: version.id,
    usage,
    source,
    parts,
  }
}

/** One class of a charge; amounts are not rounded. */
export interface ChargeLine {
  readonly name: string
  readonly unit: PriceClass['unit']
  readonly count: number
  readonly unitPrice: UsdAttos
  readonly amount: UsdAttos
}

/** The classes that a charge is the sum of, those that were free too; `amount`s sum up to it before it is rounded. */
export function chargeLines(
  usage: Usage,
  { prices }: PriceVersion,
  image: ImageChoice,
): readonly ChargeLine[] {
  const tier = tierFor(prices, promptTokens(usage))
  return PRICE_CLASSES.map(({ name, unit, count, price }) => {
    const counted = count(usage)
    const unitPrice = price(tier, prices, image)
    const amount = (units(counted) * unitPrice) as UsdAttos
    return { name, unit, count: counted, unitPrice, amount }
  }).filter(({ unit, count, amount }) => (unit === 'request' ? amount > 0n : count > 0))
}

const dearer = (most: UsdAttos, price: UsdAttos | null): UsdAttos =>
  price !== null && price > most ? price : most

/** What a token of the prompt costs at most; a prompt smaller than its bound may fall into a dearer tier. */
function dearestPrompt(prices: Prices, most: number): UsdAttos {
  let found = dearer(dearestIn(prices), prices.imageInputToken)
  for (const tier of prices.tiers) {
    if (most > tier.aboveTokens) found = dearer(found, dearestIn(tier))
  }
  return found
}

const dearestIn = ({ prompt, cacheRead, cacheWrite }: Prices | PriceTier): UsdAttos =>
  dearer(dearer(prompt, cacheRead), cacheWrite)

/** What a token of the answer costs at most, behind a prompt of at most so many. */
function dearestCompletion(prices: Prices, most: number): UsdAttos {
  let found = dearer(prices.completion, prices.imageOutputToken)
  for (const tier of prices.tiers) {
    if (most > tier.aboveTokens) found = dearer(found, tier.completion)
  }
  return found
}

/** Of a model that does not say how much it reads, for files that do not say how large they are. */
const USUAL_CONTEXT = 1_000_000

/**
 * The upper bound that a request holds: no tokenizer makes more tokens than the text has bytes, no prompt that is read is
 * larger than the model's context, and every class is taken at the dearest price that could apply (contract §8).
 */
export function holdFor(
  request: ChatRequest,
  card: ModelCard,
  version: PriceVersion,
  reserveOutputTokens: number,
): UsdNanos {
  const { prices } = version
  const input = inputBound(request, card)
  const spoken = outputBound(request, card, reserveOutputTokens)
  const drawsByToken = request.wantsImages && prices.imagePrices.length === 0
  const each = drawsByToken ? Math.max(spoken, mostDrawnTokens(request.image)) : spoken
  const output = each * request.choices
  const images = request.wantsImages ? Math.max(1, request.choices) : 0
  let sum =
    units(input) * dearestPrompt(prices, input) +
    units(output) * dearestCompletion(prices, input) +
    prices.request
  if (request.inputImages > 0) sum += units(request.inputImages) * prices.inputImage
  if (images > 0) sum += units(images) * pricePerImage(prices.imagePrices, request.image)
  return toAmount(sum)
}

function inputBound(request: ChatRequest, { id, upstreamName, contextLength }: ModelCard): number {
  const { textBytes, inputImages, isUnbounded } = request
  const seen = inputImages > 0 ? seenTokensOf({ id, upstreamName }) : null
  const pictures = seen ? inputImages * seen.most : 0
  const billedOnly = seen?.isRead === false ? pictures : 0
  if (isUnbounded) return (contextLength ?? USUAL_CONTEXT) + billedOnly
  const read = textBytes + TEMPLATE_TOKENS + pictures - billedOnly
  return Math.min(read, contextLength ?? read) + billedOnly
}

function outputBound(request: ChatRequest, card: ModelCard, reserveOutputTokens: number): number {
  if (request.maxOutputTokens !== null) return request.maxOutputTokens
  return Math.min(card.maxCompletionTokens ?? reserveOutputTokens, reserveOutputTokens)
}
