/** Tokens of an image, sent or generated: an estimate where the provider has not counted them, and an upper bound for the hold. */
import type { ImageChoice, ModelCard } from './model-card.ts'

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

/** Of a generated image, where a model bills it by token: OpenAI's figures for 1024x1024, the same for all of its models except the newest. */
const ESTIMATES: ReadonlyMap<string | undefined, number> = new Map([
  ['low', 272],
  ['medium', 1_056],
  ['high', 4_160],
])
/** Google's figure; its models have no quality setting. */
const ESTIMATE_WITHOUT_QUALITY = 1_290

/**
 * Upper bound over all vendors at the best quality: OpenAI's newest model takes 7,024 for a megapixel and 23,700 for about
 * 4000x2000, its older ones at most 6,240, Google's 2,000.
 */
const MAX_BASE_TOKENS = 4_608
const MAX_PER_MILLION_PIXELS = 2_304
/** The largest size that any model generates by default. */
const MAX_DEFAULT_PIXELS = 1_536 * 1_024
/** A lower quality takes at most this fraction (1/n) of the best quality's tokens. */
const QUALITY_DIVISORS: ReadonlyMap<string | undefined, number> = new Map([
  ['low', 16],
  ['medium', 4],
])

/** No vendor counts as few for a generated image. */
export const LEAST_OUTPUT_IMAGE_TOKENS = 100

/** The estimate for an image that the provider generated and did not count. */
export const estimatedOutputImageTokens = ({ quality }: ImageChoice): number =>
  ESTIMATES.get(quality) ?? ESTIMATE_WITHOUT_QUALITY

/** The upper bound, for the hold. */
export function maxOutputImageTokens({ resolution, quality }: ImageChoice): number {
  const best = MAX_BASE_TOKENS + (MAX_PER_MILLION_PIXELS * pixelsOf(resolution)) / 1e6
  return Math.ceil(best / (QUALITY_DIVISORS.get(quality) ?? 1))
}

function pixelsOf(resolution: string | undefined): number {
  const [, wide, tall] = /^(\d{2,5})x(\d{2,5})$/.exec(resolution ?? '') ?? []
  return wide === undefined || tall === undefined ? MAX_DEFAULT_PIXELS : Number(wide) * Number(tall)
}
