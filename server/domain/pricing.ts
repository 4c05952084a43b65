/** Units times prices: the highest possible cost of a request, and its charge. Multiplied first, rounded once. */

import { askedModifiers, asksForLongCaching, NO_MODIFIERS } from './extras.ts'
import { inputImageTokensOf } from './input-image-tokens.ts'
import type { Charge, UsageSource } from './ledger.ts'
import {
  ANY_IMAGE,
  type ImageChoice,
  type ImagePrice,
  type ModelCard,
  type Modifier,
  type Prices,
  type PriceTier,
  type PriceVersion,
} from './model-card.ts'
import {
  type Factor,
  FREE,
  MAX_USD_NANOS,
  NO_MONEY,
  type RubPerUsd,
  roundToNanos,
  timesFactor,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from './money.ts'
import { maxOutputImageTokens } from './output-image-tokens.ts'
import { estimatePromptTokens } from './prompt-estimate.ts'
import { promptTokens, type ServerCalls, type Usage } from './usage.ts'
import type { Work } from './work.ts'

/** The counts of a usage. */
type Counted = Exclude<keyof Usage, 'serverCalls' | 'reasoningTokens'>

export interface PriceClass {
  /** As a receipt names it. */
  readonly name: string
  readonly unit: 'token' | 'image' | 'search_unit' | 'request' | 'call'
  /** The part of a charge that it belongs to. */
  readonly part: keyof Charge['parts']
  readonly counted: Counted | 'requests'
  /** The price of one unit; `tier` has the prices for a prompt of this size. */
  price(tier: Prices | PriceTier, prices: Prices, image: ImageChoice): UsdAttos
}

const priceClass = (
  name: string,
  unit: PriceClass['unit'],
  part: PriceClass['part'],
  counted: PriceClass['counted'],
  price: PriceClass['price'],
): PriceClass => ({ name, unit, part, counted, price })

const countOf = (usage: Usage, { counted }: PriceClass): number =>
  counted === 'requests' ? 1 : usage[counted]

/** Images are priced per image or per token, never both. */
const isByPiece = ({ imagePrices }: Prices): boolean => imagePrices.length > 0

/** A charge sums these classes and the calls of the vendor's tools, and a receipt lists them. */
export const PRICE_CLASSES: readonly PriceClass[] = [
  priceClass('input_tokens', 'token', 'prompt', 'inputTokens', ({ prompt }) => prompt),
  priceClass(
    'cache_read_tokens',
    'token',
    'prompt',
    'cacheReadTokens',
    ({ cacheRead, prompt }) => cacheRead ?? prompt,
  ),
  priceClass(
    'cache_write_tokens',
    'token',
    'prompt',
    'cacheWriteTokens',
    ({ cacheWrite, prompt }) => cacheWrite ?? prompt,
  ),
  priceClass(
    'cache_write_1h_tokens',
    'token',
    'prompt',
    'cacheWrite1hTokens',
    ({ cacheWrite1h, cacheWrite, prompt }) => cacheWrite1h ?? cacheWrite ?? prompt,
  ),
  priceClass(
    'image_input_tokens',
    'token',
    'prompt',
    'imageInputTokens',
    ({ prompt }, { imageInputToken }) => imageInputToken ?? prompt,
  ),
  priceClass('input_images', 'image', 'prompt', 'inputImages', (_, { inputImage }) => inputImage),
  priceClass(
    'search_units',
    'search_unit',
    'prompt',
    'searchUnits',
    (_, { searchUnit }) => searchUnit,
  ),
  priceClass('requests', 'request', 'prompt', 'requests', (_, { request }) => request),
  priceClass(
    'output_tokens',
    'token',
    'completion',
    'outputTokens',
    ({ completion }) => completion,
  ),
  priceClass(
    'image_output_tokens',
    'token',
    'images',
    'imageOutputTokens',
    ({ completion }, prices) =>
      isByPiece(prices) ? FREE : (prices.imageOutputToken ?? completion),
  ),
  priceClass('output_images', 'image', 'images', 'outputImages', (_, { imagePrices }, image) =>
    pricePerImage(imagePrices, image),
  ),
]

/** The class of a receipt's line about calls of the vendor's tools, one line for each tool. */
export const SERVER_TOOL_CALLS = 'server_tool_calls'

/** The price of one call; a tool that was not asked for, and has no price, is free. */
const pricePerCall = ({ serverTools }: Prices, name: string): UsdAttos =>
  serverTools.find(({ tool }) => tool === name)?.usd ?? FREE

/**
 * The price of one image by resolution and quality; a wildcard or an unstated value matches anything. Of several matches the
 * highest price is taken, so that a hold is never too small.
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

/** The prices that apply to a prompt of this size. */
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

/** An allowance for the provider's prompt template (role markers, tool instructions). */
const TEMPLATE_TOKENS = 512

const units = (count: number): bigint => BigInt(count)

/** Rounds once, and caps an absurd token count at the largest amount that the ledger can store. */
function toAmount(sum: bigint): UsdNanos {
  const amount = roundToNanos(sum as UsdAttos)
  return amount > MAX_USD_NANOS ? MAX_USD_NANOS : amount
}

/** Size and quality to charge: those generated where the price list has them, else those requested. */
export function chargedImage(
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

/**
 * What `usage` costs at `version`, in both currencies; `modifiers` are factors of the whole price.
 * @example 22 in × $2.5/M + 3 out × $10/M = 85_000 nano-dollars
 */
export function chargeFor(
  usage: Usage,
  version: PriceVersion,
  rubPerUsd: RubPerUsd,
  source: UsageSource,
  image: ImageChoice,
  modifiers: readonly Modifier[] = NO_MODIFIERS,
): Charge {
  const { prices } = version
  const tier = tierFor(prices, promptTokens(usage))
  const parts = { prompt: FREE, completion: FREE, images: FREE, tools: FREE }
  for (const one of PRICE_CLASSES) {
    const count = countOf(usage, one)
    const price = count > 0 ? one.price(tier, prices, image) : FREE
    if (price !== FREE) parts[one.part] = (parts[one.part] + units(count) * price) as UsdAttos
  }
  if (usage.serverCalls !== null) parts.tools = priceOfCalls(usage.serverCalls, prices)
  for (const { factor } of modifiers) multiply(parts, factor)
  const amount = toAmount(parts.prompt + parts.completion + parts.images + parts.tools)
  return {
    amount,
    rubPerUsd,
    costRub: toRub(amount, rubPerUsd),
    priceVersion: version.id,
    usage,
    modifiers: modifiers.length === 0 ? NO_NAMES : modifiers.map(({ name }) => name),
    source,
    parts,
  }
}

const NO_NAMES: readonly string[] = []

type Parts = { -readonly [Part in keyof Charge['parts']]: UsdAttos }

function multiply(parts: Parts, factor: Factor): void {
  parts.prompt = timesFactor(parts.prompt, factor)
  parts.completion = timesFactor(parts.completion, factor)
  parts.images = timesFactor(parts.images, factor)
  parts.tools = timesFactor(parts.tools, factor)
}

function priceOfCalls(calls: ServerCalls, prices: Prices): UsdAttos {
  let sum: bigint = FREE
  for (const tool in calls) sum += units(calls[tool] ?? 0) * pricePerCall(prices, tool)
  return sum as UsdAttos
}

/** One line of a receipt; amounts are not rounded. */
export interface ChargeLine {
  readonly name: string
  readonly unit: PriceClass['unit']
  /** Set where the unit is a call. */
  readonly tool?: string
  readonly count: number
  readonly unitPrice: UsdAttos
  readonly amount: UsdAttos
}

/**
 * The lines of a charge, free ones included; their amounts add up to the charge before rounding. The factors of `modifiers`,
 * which are names, are in the prices.
 */
export function chargeLines(
  usage: Usage,
  { prices }: PriceVersion,
  image: ImageChoice,
  modifiers: readonly string[] = NO_NAMES,
): readonly ChargeLine[] {
  const tier = tierFor(prices, promptTokens(usage))
  const factors = prices.modifiers.filter(({ name }) => modifiers.includes(name))
  const priced = (count: number, price: UsdAttos) => {
    const unitPrice = factors.reduce((most, { factor }) => timesFactor(most, factor), price)
    return { count, unitPrice, amount: (units(count) * unitPrice) as UsdAttos }
  }
  const classes = PRICE_CLASSES.map((one) => ({
    name: one.name,
    unit: one.unit,
    ...priced(countOf(usage, one), one.price(tier, prices, image)),
  }))
  const calls = Object.entries(usage.serverCalls ?? {}).map(([tool, count]) => ({
    name: SERVER_TOOL_CALLS,
    unit: 'call' as const,
    tool,
    ...priced(count, pricePerCall(prices, tool)),
  }))
  return [...classes, ...calls].filter(({ unit, count, amount }) =>
    unit === 'request' ? amount > 0n : count > 0,
  )
}

/** What a unit of a class may cost at a price: in any of its tiers, by none of `modifiers` or by all of them. */
export function unitPricesOf(
  name: string,
  { prices }: PriceVersion,
  image: ImageChoice,
  modifiers: readonly Modifier[],
): readonly UsdAttos[] {
  const found = PRICE_CLASSES.find((one) => one.name === name)
  if (found === undefined) return []
  const plain = [prices, ...prices.tiers].map((tier) => found.price(tier, prices, image))
  if (modifiers.length === 0) return plain
  const times = (price: UsdAttos): UsdAttos =>
    modifiers.reduce((most, { factor }) => timesFactor(most, factor), price)
  return [...plain, ...plain.map(times)]
}

const higherOf = (most: UsdAttos, price: UsdAttos | null): UsdAttos =>
  price !== null && price > most ? price : most

/** The highest price of a prompt token, over every tier that a prompt of up to `most` tokens can reach. */
function highestPromptPrice(prices: Prices, most: number, isLongCached: boolean): UsdAttos {
  let found = higherOf(highestPromptPriceIn(prices, isLongCached), prices.imageInputToken)
  for (const tier of prices.tiers) {
    if (most > tier.aboveTokens) found = higherOf(found, highestPromptPriceIn(tier, isLongCached))
  }
  return found
}

function highestPromptPriceIn(list: Prices | PriceTier, isLongCached: boolean): UsdAttos {
  const { prompt, cacheRead, cacheWrite, cacheWrite1h } = list
  const most = higherOf(higherOf(prompt, cacheRead), cacheWrite)
  return isLongCached ? higherOf(most, cacheWrite1h) : most
}

/** The assumed context of a model without a stated one, for files of unknown size. */
const USUAL_CONTEXT = 1_000_000

/**
 * The most that a request costs beside its answer's tokens: no tokenizer makes more tokens than the text has bytes, images
 * are drawn at their vendor's largest, and every class has the highest price that could apply (contract §8). The vendor's
 * tools are called as often as the request allows, and factors multiply all of it.
 */
export function mostOfBase(request: Work, card: ModelCard, prices: Prices): UsdNanos {
  const input = inputBound(request, card)
  const isLongCached = request.extras !== undefined && asksForLongCaching(request.extras)
  let sum = units(input) * highestPromptPrice(prices, input, isLongCached) + prices.request
  if (request.inputImages > 0) sum += units(request.inputImages) * prices.inputImage
  if (request.kind === 'rerank') sum += units(request.mostSearchUnits) * prices.searchUnit
  if (request.wantsImages) {
    sum += units(request.choices * card.imagesPerAnswer) * mostPerImage(request, prices, input)
  }
  if (request.extras !== undefined) sum = withExtras(sum, request, prices)
  return toAmount(sum + ROUND_UP)
}

function withExtras(base: bigint, { extras = [], choices }: Work, prices: Prices): bigint {
  let sum = base
  for (const { need } of extras) {
    if (need.kind !== 'server-tool') continue
    sum += units(choices) * units(need.mostCalls) * pricePerCall(prices, need.tool)
  }
  return timesAsked(sum as UsdAttos, extras, prices)
}

const timesAsked = (price: UsdAttos, extras: Work['extras'], prices: Prices): UsdAttos =>
  askedModifiers(extras, prices).reduce((most, { factor }) => timesFactor(most, factor), price)

/** The highest price of a million tokens of the answer's text, rounded up. */
export function mostPerMillionOutput(request: Work, card: ModelCard, prices: Prices): UsdNanos {
  // A model that only draws has no text to bound: its images are held as such.
  if (!card.outputModalities.includes('text')) return NO_MONEY
  const { extras } = request
  if (prices.tiers.length === 0 && extras === undefined) return perMillionOf(prices)
  const most = highestCompletionPrice(prices, inputBound(request, card))
  return roundedPerMillion(timesAsked(most, extras, prices))
}

/** Of one price list, it is the same for every request. */
function perMillionOf(prices: Prices): UsdNanos {
  let known = perMillions.get(prices)
  if (known === undefined) {
    known = roundedPerMillion(prices.completion)
    perMillions.set(prices, known)
  }
  return known
}
const perMillions = new WeakMap<Prices, UsdNanos>()

const roundedPerMillion = (price: UsdAttos): UsdNanos => toAmount(price * 1_000_000n + ROUND_UP)

/** Added before rounding half up: a bound is never rounded down. */
const ROUND_UP = 499_999_999n

function mostPerImage(request: Work, prices: Prices, input: number): UsdAttos {
  // Of any size and quality: a provider may draw another image than was asked for.
  if (prices.imagePrices.length > 0) return pricePerImage(prices.imagePrices, ANY_IMAGE)
  const tokens = units(maxOutputImageTokens(request.image))
  return (tokens * highestImageTokenPrice(prices, input)) as UsdAttos
}

const highestImageTokenPrice = (prices: Prices, most: number): UsdAttos =>
  prices.imageOutputToken ?? highestCompletionPrice(prices, most)

/** The highest price of a token of text in an answer, for a prompt of at most `most` tokens. */
function highestCompletionPrice(prices: Prices, most: number): UsdAttos {
  let found = prices.completion
  for (const tier of prices.tiers) {
    if (most > tier.aboveTokens) found = higherOf(found, tier.completion)
  }
  return found
}

function inputBound(request: Work, card: ModelCard): number {
  if (request.kind !== 'generate') return request.textBytes
  const { textBytes, inputImages, isUnbounded } = request
  const { contextLength } = card
  const seen = inputImages > 0 ? inputImageTokensOf(card) : null
  const images = seen ? inputImages * seen.max : 0
  const billedOnly = seen?.countsAsContext === false ? images : 0
  let read = textBytes + TEMPLATE_TOKENS + images - billedOnly
  if (isUnbounded) read += contextLength ?? USUAL_CONTEXT
  if (contextLength !== null && read > contextLength && isBoundedByContext(request, card)) {
    read = contextLength
  }
  return read + billedOnly
}

/** A context that an operator typed may be smaller than the model's; and a prompt beyond it may be read all the same. */
const isBoundedByContext = (request: Work, card: ModelCard): boolean =>
  card.isCatalogued && estimatePromptTokens(request, card) <= (card.contextLength ?? 0)
