/** What a request costs at most at one offer, in parts from which admission lowers the output to what money pays for (contract §8). */
import type { Hop, Prices } from './model-card.ts'
import { MAX_USD_NANOS, NO_MONEY, type UsdNanos } from './money.ts'
import { outputBounds } from './output-bound.ts'
import { mostOfBase, mostPerMillionOutput } from './pricing.ts'
import { estimatePromptTokens } from './prompt-estimate.ts'
import type { Settings } from './settings.ts'
import type { Work } from './work.ts'

export interface OfferCost {
  /** Estimated tokens of the prompt. */
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
  const base = mostOfBase(request, hop.card, prices)
  const promptTokens = estimatePromptTokens(request, hop.card)
  if (request.kind !== 'generate') return fixedCost(base, promptTokens)
  const { choices } = request
  const { full, floor } = outputBounds(request, hop, keyBound, settings)
  const perMillion = mostPerMillionOutput(request, hop.card, prices)
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
