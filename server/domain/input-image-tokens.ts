/** Tokens of an input image: an estimate, and an upper bound. */
import type { ModelCard } from './model-card.ts'

export interface InputImageTokens {
  /** Of one image that the provider has not counted. */
  readonly estimate: number
  /** The upper bound for one image at full detail, for the hold. */
  readonly max: number
  /** Whether they count against the context length; otherwise they are only billed, and the context does not bound them. */
  readonly countsAsContext: boolean
}

/**
 * OpenAI's count for 1024x1024, and an upper bound over all vendors: Together takes up to 6,404 for an image, Google 4,128,
 * Anthropic 4,784, and OpenAI 6,240 more for an image to edit at high fidelity.
 */
const DEFAULT_TOKENS: InputImageTokens = { estimate: 765, max: 7_500, countsAsContext: true }
/** This model alone is billed 2,833 tokens per image and 5,667 per tile: 1024x1024 has four tiles, and no image more than eight. */
const GPT_4O_MINI_TOKENS: InputImageTokens = {
  estimate: 25_501,
  max: 48_169,
  countsAsContext: false,
}

const GPT_4O_MINI = /\bgpt-4o-mini\b/i

export const inputImageTokensOf = ({
  id,
  upstreamName,
}: Pick<ModelCard, 'id' | 'upstreamName'>): InputImageTokens =>
  GPT_4O_MINI.test(upstreamName) || GPT_4O_MINI.test(id) ? GPT_4O_MINI_TOKENS : DEFAULT_TOKENS
