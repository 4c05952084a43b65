/** The `usage` of a chat answer: OpenAI's counts, and what they cost in both currencies (contract §7). */
import { z } from 'zod'
import type { UsageSource } from '#domain/ledger.ts'
import type { NOTHING_USED, renderUsage } from '../../surfaces/chat/render-whole.ts'
import { count, id, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const counted = z.object({
  prompt_tokens: count('Tokens of the prompt, cached ones included'),
  completion_tokens: count(
    'Tokens of the answer, reasoning included; 0 for an answer of images only',
  ),
  total_tokens: count('The sum of both'),
  images: count('Images that were returned and charged'),
  cost_rub: rub('What the request cost'),
  cost: usdNumber('What the request cost'),
}) satisfies z.ZodType<typeof NOTHING_USED>

const promptDetails = z.object({
  cached_tokens: count('Tokens read from a cache, at the price of cache reads'),
  cache_write_tokens: count('Tokens written to a cache, at the price of cache writes'),
  cache_write_1h_tokens: count(
    'Of these, those written for an hour, which has a price of its own',
  ).exactOptional(),
  image_tokens: count(
    'Tokens of images in the prompt, where the provider counts them separately',
  ).exactOptional(),
})

const completionDetails = z.object({
  reasoning_tokens: count('Tokens of the answer that were reasoning'),
})

const costDetails = z.object({
  prompt_usd: usd('The cost of the prompt, not rounded'),
  completion_usd: usd('The cost of the answer, not rounded'),
  images_usd: usd('The cost of generated images, not rounded'),
  tools_usd: usd(
    "The cost of calls of the vendor's tools, not rounded; absent without any",
  ).exactOptional(),
  modifiers: z
    .array(z.string())
    .describe(
      'Factors that all of these prices include, such as `service_tier=priority`; absent without any',
    )
    .exactOptional(),
  rub_per_usd: text('The exchange rate of the charge', '92.5'),
  price_version: id('price_', 'The price version of the charge'),
  source: oneOf<UsageSource>('The source of the counts', {
    provider: 'the provider',
    estimated: 'an estimate of the gateway, if the provider sent no counts',
  }),
})

/** Of a whole answer. */
export const usage = counted
  .extend({
    prompt_tokens_details: promptDetails,
    completion_tokens_details: completionDetails,
    cost_details: costDetails,
  })
  .describe('Usage and cost. The charge is committed before the answer ends.') satisfies z.ZodType<
  ReturnType<typeof renderUsage>
>

/** The usage of a stream, which may have failed before anything was produced. */
export const streamUsage = counted
  .extend({
    prompt_tokens_details: promptDetails.exactOptional(),
    completion_tokens_details: completionDetails.exactOptional(),
    cost_details: costDetails.exactOptional(),
  })
  .describe(
    'The same as in a non-streamed answer; if nothing was produced, all counts are zero and there are no details.',
  )
