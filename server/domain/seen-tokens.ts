/** What a picture of the prompt takes where it is priced by the token: the likely count, and the most there can be. */
import type { ModelCard } from './model-card.ts'

export interface SeenTokens {
  /** For an estimate: of one picture that no provider has counted. */
  readonly likely: number
  /** For a hold: of one picture at full detail. */
  readonly most: number
  /** Whether they are read as well; else they stand in the bill alone, and no context bounds them. */
  readonly isRead: boolean
}

/**
 * OpenAI's count for a square of a megapixel, and what no vendor exceeds: Together takes 6,404 for a picture, Google 4,128,
 * Anthropic 4,784, and OpenAI up to 6,240 more for one to draw from at high fidelity.
 */
const USUAL: SeenTokens = { likely: 765, most: 7_500, isRead: true }
/** This model alone is billed 2,833 tokens for a picture and 5,667 for each of its tiles: a square has four, none more than eight. */
const MINI: SeenTokens = { likely: 25_501, most: 48_169, isRead: false }

const IS_MINI = /\bgpt-4o-mini\b/i

export const seenTokensOf = ({
  id,
  upstreamName,
}: Pick<ModelCard, 'id' | 'upstreamName'>): SeenTokens =>
  IS_MINI.test(upstreamName) || IS_MINI.test(id) ? MINI : USUAL
