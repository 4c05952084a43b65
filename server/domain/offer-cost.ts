/**
 * What a request costs at most at one offer, in parts from which admission lowers the output to what money pays for; and the
 * bound of an answer's length, in tokens of one choice: how long it may be at most, and what the provider is told (contract §8).
 */
import { GatewayError } from './errors.ts'
import { askedModifiers, asksForLongCaching } from './extras.ts'
import type { Hop } from './hop.ts'
import { inputImageTokensOf, maxOutputImageTokens } from './image-tokens.ts'
import { type ApiKey, outputBoundOf } from './key.ts'
import { ANY_IMAGE, type ModelCard, type Prices, type PriceTier } from './model-card.ts'
import { MAX_USD_NANOS, NO_MONEY, timesFactor, type UsdAttos, type UsdNanos } from './money.ts'
import { pricePerCall, pricePerImage, toAmount } from './pricing.ts'
import { familyOf, vendorName } from './provider.ts'
import type { Settings } from './settings.ts'
import { tokensOf } from './text-size.ts'
import { ANSWER_TOKENS, thinkingBudgetOf } from './thinking.ts'
import type { Work } from './work.ts'

export interface OfferCost {
  /** Tokens of the prompt, by estimate; with a file or sound, the most that the model reads. */
  readonly promptTokens: number
  /** The most of everything but the answer's tokens: prompt, input images, images drawn, the request itself. */
  readonly base: UsdNanos
  /** The highest price of a million tokens of the answer. */
  readonly perMillion: UsdNanos
  readonly choices: number
  /** Output tokens of one choice where money is ample. */
  readonly full: number
  /** The bound is not lowered below it; at `full` or above, it is not lowered at all. */
  readonly floor: number
  /** The most that an answer within the full bound costs, without the base. */
  readonly fullOutput: UsdNanos
}

/** `keyBound` is the key's `max_output_tokens`. */
export function offerCost(
  request: Work,
  hop: Hop,
  prices: Prices,
  keyBound: number | null,
  settings: Settings,
): OfferCost {
  const { card } = hop
  const input = inputBound(request, card)
  const highest = highestOf(prices, input, request.extras)
  const base = mostOfBase(request, card, prices, input, highest.promptToken)
  const promptTokens = mostRead(request, card, estimatePromptTokens(request, card))
  if (request.kind !== 'generate') return fixedCost(base, promptTokens)
  const { choices } = request
  const { full, floor } = outputBounds(request, hop, keyBound, settings)
  // A model that only draws has no text to bound: its images are held as such.
  const perMillion = card.outputModalities.includes('text') ? highest.perMillion : NO_MONEY
  const fullOutput = outputCost(perMillion, choices, full)
  return { promptTokens, base, perMillion, choices, full, floor, fullOutput }
}

/** The cost of an offer that no bound changes. */
export const fixedCost = (base: UsdNanos, promptTokens = 0): OfferCost => ({
  promptTokens,
  base,
  perMillion: NO_MONEY,
  choices: 1,
  full: 0,
  floor: 0,
  fullOutput: NO_MONEY,
})

const MILLION = 1_000_000n
const ROUND_UP = MILLION - 1n

/** Of that many tokens in each choice. */
export const outputCost = (perMillion: UsdNanos, choices: number, bound: number): UsdNanos =>
  ((BigInt(choices * bound) * perMillion + ROUND_UP) / MILLION) as UsdNanos

/** The output tokens of one choice that `money` pays for, within floor and full bound; null does not lower it. */
export function boundFor(cost: OfferCost, money: UsdNanos | null): number {
  const { full, floor, choices, perMillion, fullOutput } = cost
  if (money === null || floor >= full || fullOutput <= money) return full
  const paid = (money * MILLION) / (BigInt(choices) * perMillion)
  return Math.max(floor, Number(paid))
}

/** The most that an answer within `bound` costs. */
export function costWithin(cost: OfferCost, bound: number): UsdNanos {
  const { base, perMillion, choices, full, fullOutput } = cost
  const most = base + (bound === full ? fullOutput : outputCost(perMillion, choices, bound))
  return (most > MAX_USD_NANOS ? MAX_USD_NANOS : most) as UsdNanos
}

/** What is held for whichever offer serves: the most of any, each within the bound that `money` pays for. */
export function holdFor(offers: readonly OfferCost[], money: UsdNanos | null): UsdNanos {
  let hold = NO_MONEY
  for (const offer of offers) {
    const most = costWithin(offer, boundFor(offer, money))
    if (most > hold) hold = most
  }
  return hold
}

/** The most tokens of any offer: its prompt, and its answers within the bounds that `money` pays for. */
export function tokensFor(offers: readonly OfferCost[], money: UsdNanos | null): number {
  let most = 0
  for (const offer of offers) {
    most = Math.max(most, offer.promptTokens + offer.choices * boundFor(offer, money))
  }
  return most
}

/** The most of any offer: its base, and what its answer costs within the full bound. */
export function mostOf(offers: readonly OfferCost[]): Pick<OfferCost, 'base' | 'fullOutput'> {
  let base = NO_MONEY
  let fullOutput = NO_MONEY
  for (const offer of offers) {
    if (offer.base > base) base = offer.base
    if (offer.fullOutput > fullOutput) fullOutput = offer.fullOutput
  }
  return { base, fullOutput }
}

/** A model that reasons spends the first tokens of its answer on that; fewer would often be paid for and leave it empty. */
const REASONING_FLOOR = 16_384

/** Of one choice's answer, in tokens. */
interface OutputBounds {
  /**
   * Where money is ample: the least of the client's bound, the key's limit, and the card's maximum, or else its context. A
   * provider that takes no bound is held at its card's maximum, whatever the others are.
   */
  readonly full: number
  /** Money lowers the bound no further than this; a bound that the client states is not lowered. */
  readonly floor: number
}

export function outputBounds(
  request: Work,
  hop: Hop,
  keyBound: number | null,
  settings: Settings,
): OutputBounds {
  const { card, provider } = hop
  const ofCard = boundOfCard(request, card, settings)
  if (provider.outputBound === 'none') return { full: ofCard, floor: ofCard }
  const full = Math.min(request.maxOutputTokens ?? ofCard, keyBound ?? ofCard, ofCard)
  const isStated = request.maxOutputTokens !== null
  return { full, floor: isStated ? full : floorOf(request, hop, settings) }
}

const boundOfCard = (request: Work, card: ModelCard, settings: Settings): number =>
  card.maxCompletionTokens ?? card.contextLength ?? reserveFor(request, card, settings)

/** Where images are drawn, their tokens count against the bound too. */
const reserveFor = (
  { wantsImages, image }: Work,
  { imagesPerAnswer }: ModelCard,
  { reserveOutputTokens }: Settings,
): number => reserveOutputTokens + (wantsImages ? imagesPerAnswer * maxOutputImageTokens(image) : 0)

function floorOf(request: Work, hop: Hop, settings: Settings): number {
  const budget = budgetOf(request, hop)
  return Math.max(
    reserveFor(request, hop.card, settings),
    reasons(hop.card) ? REASONING_FLOOR : 0,
    budget === null ? 0 : budget.tokens + ANSWER_TOKENS,
  )
}

function budgetOf(
  { reasoning, dialect }: Work,
  { card, provider }: Pick<Hop, 'card' | 'provider'>,
) {
  const family = familyOf(provider.type, card)
  // A client of chat says what is sent; of others the budget becomes an effort there.
  if (family === 'openai' && dialect !== 'chat') return null
  return thinkingBudgetOf(reasoning, family, vendorName(card))
}

export const reasons = ({ supportedParameters }: Pick<ModelCard, 'supportedParameters'>): boolean =>
  supportedParameters.includes('reasoning_effort') || supportedParameters.includes('reasoning')

/** What a provider is told of a granted bound, in tokens of one choice. */
interface SentBound {
  /** Null where the model's own maximum bounds the answer, nothing can, or nothing need. */
  readonly sent: number | null
  /** The same, where it is lower than the client's own, or than the model's where the client states none; else null. */
  readonly lowered: number | null
}

const NONE_SENT: SentBound = { sent: null, lowered: null }

export function boundToSend(
  request: Work,
  { card, provider }: Hop,
  granted: number,
  settings: Settings,
): SentBound {
  if (provider.outputBound === 'none' || request.kind !== 'generate') return NONE_SENT
  const stated = request.maxOutputTokens
  const { maxCompletionTokens: most, isCatalogued } = card
  if (stated === null && isCatalogued && most !== null && granted >= most) return NONE_SENT
  const room = roomFor(request, card, settings)
  const sent = Math.min(granted, room)
  const wanted = stated ?? Math.min(boundOfCard(request, card, settings), room)
  return { sent, lowered: sent < wanted ? sent : null }
}

/**
 * What the context leaves beside the prompt; unbounded where that cannot be told, as an estimate beyond the context may be
 * wrong. Some servers refuse a bound that does not fit, and no client is to be refused for a bound that it did not state: then
 * the prompt may be twice the estimate, unless too little would be left.
 */
function roomFor(request: Work, card: ModelCard, { reserveOutputTokens }: Settings): number {
  if (card.contextLength === null) return Number.POSITIVE_INFINITY
  const estimate = estimatePromptTokens(request, card)
  const room = card.contextLength - estimate
  if (room <= 0) return Number.POSITIVE_INFINITY
  const isStated = request.maxOutputTokens !== null
  return isStated || room - estimate < reserveOutputTokens ? room : room - estimate
}

/** An estimate is wrong by less than this factor. */
const CERTAINLY_TOO_LONG = 4

/** @throws context_length_exceeded for a prompt, or an entry of a list, that cannot be within the model's context */
export function checkContext(request: Work, card: ModelCard): void {
  const { contextLength, id } = card
  // A token has a byte at least: most prompts need no estimate. What ranks documents cuts those that are too long.
  if (contextLength === null || request.textBytes < contextLength || request.kind === 'rerank') {
    return
  }
  const isList = request.kind === 'embed'
  const estimate = isList ? request.longestTokens : estimatePromptTokens(request, card)
  if (estimate < CERTAINLY_TOO_LONG * contextLength) return
  const [what, param] = isList ? ['an entry of the input', 'input'] : ['the prompt', 'messages']
  throw new GatewayError(
    'context_length_exceeded',
    `${what} has about ${estimate} tokens, and ${id} reads ${contextLength}: shorten it, or take a model with a longer context`,
    {
      param,
      metadata: {
        limit: 'context_length',
        limit_value: contextLength,
        used: estimate,
        resets_at: null,
      },
    },
  )
}

/**
 * A key's limit leaves room for a thinking budget that the client states, unless its own bound does not either.
 * @throws invalid_request
 */
export function checkThinking(request: Work, hop: Hop, key: ApiKey): void {
  const limit = outputBoundOf(key)
  if (limit === null || request.kind !== 'generate') return
  const budget = budgetOf(request, hop)
  if (budget === null || !budget.isStated || limit > budget.tokens) return
  if (request.maxOutputTokens !== null && request.maxOutputTokens <= budget.tokens) return
  const isOfAccount = limit !== key.limits.maxOutputTokens
  throw new GatewayError(
    'invalid_request',
    `a thinking budget of ${budget.tokens} tokens leaves no answer within max_output_tokens of ${isOfAccount ? 'the account of ' : ''}key ${key.name}, ${limit}: state a lower budget, or have the limit raised`,
    {
      param: request.reasoning?.native ? 'thinking.budget_tokens' : 'reasoning.max_tokens',
      metadata: {
        limit: 'max_output_tokens',
        ...(isOfAccount && { limit_of: 'account' }),
        limit_value: limit,
        used: budget.tokens,
        resets_at: null,
      },
    },
  )
}

/** The highest prices that could apply to a request (contract §8). */
interface Highest {
  readonly promptToken: UsdAttos
  /** Of a million tokens of an answer's text, rounded up. */
  readonly perMillion: UsdNanos
}

/** Of a list without tiers, and for what asks for nothing beside it, they are the same for every request. */
const highestOfList = new WeakMap<Prices, Highest>()

function highestOf(prices: Prices, input: number, extras: Work['extras']): Highest {
  if (prices.tiers.length > 0 || extras !== undefined) return findHighest(prices, input, extras)
  let known = highestOfList.get(prices)
  if (known === undefined) {
    known = findHighest(prices, input, extras)
    highestOfList.set(prices, known)
  }
  return known
}

function findHighest(prices: Prices, input: number, extras: Work['extras']): Highest {
  const perToken = timesAsked(highestCompletionPrice(prices, input), extras, prices)
  return {
    promptToken: highestPromptPrice(prices, input, asksForLongCaching(extras ?? [])),
    perMillion: roundUp(perToken * 1_000_000n),
  }
}

/** Half of the divisor is added before rounding half up: a bound is never rounded down. */
const roundUp = (sum: bigint): UsdNanos => toAmount(sum + 499_999_999n)

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

/** The highest price of a token of text in an answer, for a prompt of at most `most` tokens. */
function highestCompletionPrice(prices: Prices, most: number): UsdAttos {
  let found = prices.completion
  for (const tier of prices.tiers) {
    if (most > tier.aboveTokens) found = higherOf(found, tier.completion)
  }
  return found
}

/**
 * The most that a request costs beside its answer's tokens: no tokenizer makes more tokens than the text has bytes, images
 * are drawn at their vendor's largest, and every class has the highest price that could apply (contract §8). The vendor's
 * tools are called as often as the request allows, and factors multiply all of it.
 */
function mostOfBase(
  request: Work,
  card: ModelCard,
  prices: Prices,
  input: number,
  promptToken: UsdAttos,
): UsdNanos {
  let sum = BigInt(input) * promptToken + prices.request
  if (request.inputImages > 0) sum += BigInt(request.inputImages) * prices.inputImage
  if (request.kind === 'rerank') sum += BigInt(request.mostSearchUnits) * prices.searchUnit
  if (request.wantsImages) {
    sum += BigInt(request.choices * card.imagesPerAnswer) * mostPerImage(request, prices, input)
  }
  if (request.extras !== undefined) sum = withExtras(sum, request, prices)
  return roundUp(sum)
}

function withExtras(base: bigint, { extras = [], choices }: Work, prices: Prices): bigint {
  let sum = base
  for (const { need } of extras) {
    if (need.kind !== 'server-tool') continue
    sum += BigInt(choices) * BigInt(need.mostCalls) * pricePerCall(prices, need.tool)
  }
  return timesAsked(sum as UsdAttos, extras, prices)
}

const timesAsked = (price: UsdAttos, extras: Work['extras'], prices: Prices): UsdAttos =>
  askedModifiers(extras, prices).reduce((most, { factor }) => timesFactor(most, factor), price)

function mostPerImage(request: Work, prices: Prices, input: number): UsdAttos {
  // Of any size and quality: a provider may draw another image than was asked for.
  if (prices.imagePrices.length > 0) return pricePerImage(prices.imagePrices, ANY_IMAGE)
  const tokens = BigInt(maxOutputImageTokens(request.image))
  return (tokens * highestImageTokenPrice(prices, input)) as UsdAttos
}

const highestImageTokenPrice = (prices: Prices, most: number): UsdAttos =>
  prices.imageOutputToken ?? highestCompletionPrice(prices, most)

/** An allowance for the provider's prompt template (role markers, tool instructions). */
const TEMPLATE_TOKENS = 512

/** The same for each entry of a list, or document: marks of its begin and end, an instruction. */
const ENTRY_TOKENS = 128

/** The assumed context of a model without a stated one, for what no number of bytes bounds. */
const USUAL_CONTEXT = 1_000_000

function inputBound(request: Work, card: ModelCard): number {
  if (request.kind !== 'generate') {
    const { length } = request.kind === 'embed' ? request.input : request.documents
    return request.textBytes + length * ENTRY_TOKENS
  }
  const { textBytes, inputImages } = request
  const seen = inputImages > 0 ? inputImageTokensOf(card) : null
  const images = seen ? inputImages * seen.max : 0
  const billedOnly = seen?.countsAsContext === false ? images : 0
  return mostRead(request, card, textBytes + TEMPLATE_TOKENS + images - billedOnly) + billedOnly
}

/** Of a prompt of so many tokens, beside which a file or sound may fill the context. */
function mostRead(request: Work, card: ModelCard, tokens: number): number {
  const { contextLength } = card
  const isUnbounded = request.kind === 'generate' && request.isUnbounded === true
  const read = isUnbounded ? tokens + (contextLength ?? USUAL_CONTEXT) : tokens
  if (contextLength === null || read <= contextLength) return read
  return isBoundedByContext(request, card) ? contextLength : read
}

/** A context that an operator typed may be smaller than the model's; and a prompt beyond it may be read all the same. */
const isBoundedByContext = (request: Work, card: ModelCard): boolean =>
  card.isCatalogued && estimatePromptTokens(request, card) <= (card.contextLength ?? 0)

/** Base64 of a file or audio: its tokens depend on pages or seconds, so far more bytes make one token. */
const BYTES_PER_FILE_TOKEN = 100

interface PromptEstimate {
  readonly words: number
  readonly images: number
}

/** An estimate of a prompt's tokens, for what no provider has counted. */
export function estimatePrompt(
  request: Work,
  card: Pick<ModelCard, 'id' | 'upstreamName'>,
): PromptEstimate {
  if (request.kind === 'embed') return { words: request.tokens, images: 0 }
  const { textBytes, textSize, inputImages } = request
  const fileBytes = request.kind === 'generate' ? (request.fileBytes ?? 0) : 0
  const words = tokensOf({
    bytes: (textSize?.bytes ?? textBytes) - fileBytes,
    dense: textSize?.dense ?? 0,
  })
  return {
    words: words + Math.ceil(fileBytes / BYTES_PER_FILE_TOKEN),
    images: inputImages === 0 ? 0 : inputImages * inputImageTokensOf(card).estimate,
  }
}

/** Those of the prompt that count against the context. */
function estimatePromptTokens(request: Work, card: Pick<ModelCard, 'id' | 'upstreamName'>): number {
  const { words, images } = estimatePrompt(request, card)
  return images > 0 && inputImageTokensOf(card).countsAsContext ? words + images : words
}
