/** The receipt of one request: what was counted × its price, who was asked, how long it took, how it ended (contract §7). */
import { z } from 'zod'
import type { EndedBy } from '#domain/activity.ts'
import type { UsageSource } from '#domain/ledger.ts'
import { PRICE_CLASSES, type PriceClass } from '#domain/price-classes.ts'
import type { ReceiptAttempt } from '#domain/receipt.ts'
import type { renderGeneration } from '../../wire/render-generation.ts'
import { count, id, moment, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const line = z.object({
  class: z.enum(PRICE_CLASSES.map(({ name }) => name)).describe('The class of usage'),
  unit: oneOf<PriceClass['unit']>('', {
    token: 'by the token',
    image: 'by the piece',
    request: 'once',
  }),
  count: count('The number of units'),
  unit_price_usd: usd('The price of one unit'),
  amount_usd: usd(
    '`count` × `unit_price_usd`, not rounded; the sum of all lines rounds to `cost_usd`',
  ),
})

const attempt = z.object({
  model: z.string(),
  provider: z.string(),
  outcome: oneOf<ReceiptAttempt['outcome']>('', {
    answered: 'it answered',
    left: 'the client hung up',
    stopped: 'the gateway stopped',
    rejected: 'it refused the request',
    unauthorized: "it refused the gateway's account",
    overloaded: 'it was overloaded',
    failed: 'it failed, or broke off',
    timeout: 'it did not answer in time',
    'no-image': 'it answered without the requested image',
  }),
  status: z.int().nullable().describe("The provider's own status, where it failed with one"),
  reason: z.string().nullable().describe('Why it failed'),
  ms: count('Milliseconds'),
})

const openRouterFields = z
  .object({
    id: id('gen-', 'Its id'),
    model: z.string(),
    provider_name: z.string().nullable(),
    created_at: moment('When it arrived'),
    external_user: z.string().nullable(),
    streamed: z.boolean(),
    cancelled: z.boolean(),
    finish_reason: z.string().nullable(),
    native_finish_reason: z.null(),
    latency: count('Milliseconds'),
    generation_time: z.int().describe('Milliseconds'),
    total_cost: usdNumber('The charge'),
    usage: usdNumber('The charge'),
    is_byok: z.boolean(),
    tokens_prompt: count('Tokens of the prompt'),
    tokens_completion: count('Tokens of the answer'),
    native_tokens_prompt: count('Tokens of the prompt'),
    native_tokens_completion: count('Tokens of the answer'),
    native_tokens_cached: count('Tokens read from a cache'),
    native_tokens_reasoning: count('Tokens of the answer that were reasoning'),
    native_tokens_completion_images: count('Tokens of generated images'),
    num_media_prompt: count('Images in the prompt'),
    num_media_completion: count('Images in the answer'),
  })
  .describe("The same under OpenRouter's names, for cost trackers")

export const generation = z
  .object({
    object: z.literal('generation'),
    id: id('gen-', 'Its id'),
    request_id: z.string().describe('As in `X-Request-Id`'),
    created_at: moment('When it arrived'),
    key_id: id('key_', 'The key that made the request'),
    key_name: z.string(),
    user: z.string().nullable().describe('The end user that the request named'),
    model: z.string().describe('The model that served, else the one asked for'),
    provider: z
      .string()
      .nullable()
      .describe('The provider that was asked last; null where none was'),
    stream: z.boolean(),
    status: z.int().describe('The status sent; 499 where the client had left before one could be'),
    code: z.string().nullable().describe("The error's code; null on success"),
    ended_by: oneOf<EndedBy>('Who ended the request', {
      completed: 'it ran to its end',
      client: 'the client hung up',
      upstream: 'the provider broke off',
      gateway: 'the gateway stopped',
      refused: 'it was not admitted',
    }),
    finish_reason: z.string().nullable(),
    cost_usd: usd('The charge, exactly as in the ledger'),
    cost_rub: rub('The charge'),
    rub_per_usd: text('The exchange rate of the charge', '92.5').nullable(),
    price_version: id('price_', 'The version of the price list').nullable(),
    charged_at: moment('Null where nothing was charged').nullable(),
    lines: z.array(line).describe('Each class of usage × its price'),
    image: z
      .object({ resolution: z.string().nullable(), quality: z.string().nullable() })
      .nullable()
      .describe('The size and quality that were charged'),
    usage: z.object({
      prompt_tokens: count('Tokens of the prompt'),
      completion_tokens: count('Tokens of the answer'),
      total_tokens: count('The sum of both'),
      reasoning_tokens: count('Tokens of the answer that were reasoning'),
      images: count('Images that were returned'),
    }),
    usage_source: oneOf<UsageSource>('Who counted', {
      provider: "the provider's own",
      estimated: "the gateway's estimate",
    }).nullable(),
    queued_ms: count('Milliseconds from arrival to admission'),
    first_byte_ms: count('Milliseconds to the first content; null where none came').nullable(),
    total_ms: count('Milliseconds to its end'),
    attempts: z.array(attempt).describe('In order; empty where no provider was asked'),
    data: openRouterFields,
  })
  .describe('The receipt of a request that has ended.') satisfies z.ZodType<
  ReturnType<typeof renderGeneration>
>
