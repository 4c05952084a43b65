/**
 * The bound of an answer's length, in tokens of one choice: how long it may be at most, and what the provider is told (contract §8).
 * Between floor and full bound money decides: `grantFor` of `admission.ts`, `boundFor` of `offer-cost.ts`.
 */

import { GatewayError } from './errors.ts'
import { type ApiKey, outputBoundOf } from './key.ts'
import type { Hop, ModelCard } from './model-card.ts'
import { maxOutputImageTokens } from './output-image-tokens.ts'
import { estimatePromptTokens } from './prompt-estimate.ts'
import { familyOf, vendorName } from './provider.ts'
import type { Settings } from './settings.ts'
import { ANSWER_TOKENS, thinkingBudgetOf } from './thinking.ts'
import type { Work } from './work.ts'

/** A model that reasons spends the first tokens of its answer on that; fewer would often be paid for and leave it empty. */
const REASONING_FLOOR = 16_384

/** Of one choice's answer, in tokens. */
export interface OutputBounds {
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

export const reasons = ({ supportedParameters }: ModelCard): boolean =>
  supportedParameters.includes('reasoning_effort') || supportedParameters.includes('reasoning')

/** What a provider is told of a granted bound, in tokens of one choice. */
export interface SentBound {
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
