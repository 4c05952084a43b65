/** Units times prices: a charge and the lines of its receipt. Multiplied first, rounded once. */
import { NO_MODIFIERS } from './extras.ts'
import type { Charge, UsageSource } from './ledger.ts'
import type {
  ImageChoice,
  ImagePrice,
  Modifier,
  Prices,
  PriceTier,
  PriceVersion,
} from './model-card.ts'
import {
  type Factor,
  FREE,
  MAX_USD_NANOS,
  type RubPerUsd,
  roundToNanos,
  timesFactor,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from './money.ts'
import { promptTokens, type ServerCalls, type Usage } from './usage.ts'

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
export const pricePerCall = ({ serverTools }: Prices, name: string): UsdAttos =>
  serverTools.find(({ tool }) => tool === name)?.usd ?? FREE

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

/** Rounds once, and caps an absurd token count at the largest amount that the ledger can store. */
export function toAmount(sum: bigint): UsdNanos {
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
    if (price !== FREE) parts[one.part] = (parts[one.part] + BigInt(count) * price) as UsdAttos
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
  for (const tool in calls) sum += BigInt(calls[tool] ?? 0) * pricePerCall(prices, tool)
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
    return { count, unitPrice, amount: (BigInt(count) * unitPrice) as UsdAttos }
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
