/** What an answer must cost: the recording's own count times the card's prices, by arithmetic of the tests' own. */
import { nanos, priced } from '#test/support/appliance.ts'
import { type Count, wordsOf } from './heard.ts'
import type { Truth } from './truth.ts'

/** Dollars per million tokens. */
export const PRICES = { in: '2.5', out: '10', cached: '0.31', written: '3.7' } as const
/** Dollars per image, where images have a price of their own. */
export const PER_IMAGE = '0.039'

export interface Bill {
  readonly count: Count
  readonly source: 'provider' | 'estimated'
}

/**
 * The provider's count, where it was made at the end. Else an estimate: four bytes a token of what was asked and said, 1290
 * tokens an image; where the provider had begun to count, its prompt, and the larger of the two outputs.
 */
export function billOf({ count, isPartial, said }: Truth, asked: string): Bill {
  if (count !== null && !isPartial) return { count, source: 'provider' }
  const stated = count ?? { ...NO_COUNT, prompt: tokensIn(asked) }
  const imageTokens = Math.max(stated.imageTokens, 1290 * said.images.length)
  const thoughts = Math.floor(Buffer.byteLength(said.reasoning) / 4)
  // Thoughts that were counted and not shown stand beside what was.
  const unseen = Math.max(0, stated.reasoning - thoughts)
  const words = Math.max(stated.completion - stated.imageTokens, tokensIn(wordsOf(said)) + unseen)
  const reasoning = Math.max(stated.reasoning, thoughts)
  return {
    count: { ...stated, completion: words + imageTokens, imageTokens, reasoning },
    source: 'estimated',
  }
}

const NO_COUNT = { prompt: 0, cached: 0, written: 0, completion: 0, imageTokens: 0, reasoning: 0 }
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

/** In nano-dollars; `images` is how many are paid by the piece, their tokens then being free. */
export function amountOf({ count }: Bill, images: number): bigint {
  const { prompt, cached, written, completion, imageTokens } = count
  const tokens = priced(
    [prompt - cached - written, PRICES.in],
    [cached, PRICES.cached],
    [written, PRICES.written],
    [images > 0 ? completion - imageTokens : completion, PRICES.out],
  )
  return tokens + BigInt(images) * nanos(PER_IMAGE)
}
