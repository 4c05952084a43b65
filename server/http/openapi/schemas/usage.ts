/** The `usage` of a chat answer: OpenAI's counts, and what they cost in both currencies (spec §2.3, contract §7). */
import { z } from 'zod'
import type { UsageSource } from '#domain/ledger.ts'
import type { NOTHING_USED, renderUsage } from '../../wire/render-usage.ts'
import { count, id, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const counted = z.object({
  prompt_tokens: count('Tokens of the prompt, cached ones included'),
  completion_tokens: count('Tokens of the answer, reasoning included; 0 for a pure image'),
  total_tokens: count('Both together'),
  images: count('Pictures that came and are billed'),
  cost_rub: rub('What the request cost'),
  cost: usdNumber('What the request cost'),
}) satisfies z.ZodType<typeof NOTHING_USED>

const promptDetails = z.object({
  cached_tokens: count('Read from a cache, at its price'),
  cache_write_tokens: count('Written to a cache, at its price'),
  image_tokens: count(
    'Of pictures in the prompt, where the provider tells them apart',
  ).exactOptional(),
})

const completionDetails = z.object({
  reasoning_tokens: count('Of the answer, spent on thinking'),
})

const costDetails = z.object({
  prompt_usd: usd('The part of the prompt, not rounded'),
  completion_usd: usd('The part of the answer, not rounded'),
  images_usd: usd('The part of the pictures, not rounded'),
  rub_per_usd: text('The exchange rate that this charge is stamped with', '92.5'),
  price_version: id('price_', 'The version of the price list that it was charged at'),
  source: oneOf<UsageSource>('Whose count it is', {
    provider: "the provider's own",
    estimated: "the gateway's estimate, where the provider's did not come",
  }),
})

/** Of a whole answer. */
export const usage = counted
  .extend({
    prompt_tokens_details: promptDetails,
    completion_tokens_details: completionDetails,
    cost_details: costDetails,
  })
  .describe(
    'What was counted and what it cost. The charge is committed before the answer ends.',
  ) satisfies z.ZodType<ReturnType<typeof renderUsage>>

/** Of a stream, which may have failed before anything was produced. */
export const streamUsage = counted
  .extend({
    prompt_tokens_details: promptDetails.exactOptional(),
    completion_tokens_details: completionDetails.exactOptional(),
    cost_details: costDetails.exactOptional(),
  })
  .describe('As of a whole answer; without details, and all zeros, where nothing was produced.')
