/** What a drawn picture takes where pictures are made of tokens: the likely count, and the most there can be. */
import type { ImageChoice } from './pricing.ts'

/** OpenAI's own figures for a square of a megapixel, which are the same for all of its models but the newest. */
const LIKELY: ReadonlyMap<string | undefined, number> = new Map([
  ['low', 272],
  ['medium', 1_056],
  ['high', 4_160],
])
/** Google's figure; it knows no qualities. */
const LIKELY_OF_ANY_QUALITY = 1_290

/**
 * No vendor takes more than this for a picture of the best quality: OpenAI's newest model takes 7,024 for a megapixel and 23,700
 * for four thousand pixels by two, its older ones at most 6,240, Google's 2,000.
 */
const MOST_AT_NO_SIZE = 4_608
const MOST_PER_MILLION_PIXELS = 2_304
/** The largest size that anyone draws who is not told one. */
const PIXELS_OF_ANY_SIZE = 1_536 * 1_024
/** Of the best quality's tokens, the part that a lesser one takes at most. */
const LESSER: ReadonlyMap<string | undefined, number> = new Map([
  ['low', 16],
  ['medium', 4],
])

/** For an estimate: of a picture that was drawn and not counted. */
export const likelyDrawnTokens = ({ quality }: ImageChoice): number =>
  LIKELY.get(quality) ?? LIKELY_OF_ANY_QUALITY

/** For a hold: of a picture that is still to be drawn. */
export function mostDrawnTokens({ resolution, quality }: ImageChoice): number {
  const best = MOST_AT_NO_SIZE + (MOST_PER_MILLION_PIXELS * pixelsOf(resolution)) / 1e6
  return Math.ceil(best / (LESSER.get(quality) ?? 1))
}

function pixelsOf(resolution: string | undefined): number {
  const [, wide, tall] = /^(\d{2,5})x(\d{2,5})$/.exec(resolution ?? '') ?? []
  return wide === undefined || tall === undefined ? PIXELS_OF_ANY_SIZE : Number(wide) * Number(tall)
}
