/** The receipt of one request: what was counted × its price, who was asked, how long it took, how it ended (contract §7). */
import { z } from 'zod'
import type { EndedBy } from '#domain/activity.ts'
import type { UsageSource } from '#domain/ledger.ts'
import { PRICE_CLASSES, type PriceClass } from '#domain/price-classes.ts'
import type { ReceiptAttempt } from '#domain/receipt.ts'
import type { renderGeneration } from '../../wire/render-generation.ts'
import { count, id, moment, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const line = z.object({
  class: z.enum(PRICE_CLASSES.map(({ name }) => name)).describe('What was counted'),
  unit: oneOf<PriceClass['unit']>('', {
    token: 'by the token',
    image: 'by the piece',
    request: 'once',
  }),
  count: count('How many'),
  unit_price_usd: usd('Of one'),
  amount_usd: usd('Of all, not rounded; together they round to `cost_usd`'),
})

const attempt = z.object({
  model: z.string(),
  provider: z.string(),
  outcome: oneOf<ReceiptAttempt['outcome']>('', {
    answered: 'it served',
    left: 'the client hung up',
    stopped: 'the gateway stopped',
    rejected: 'it refused the request',
    unauthorized: "it refused the gateway's account",
    overloaded: 'not now',
    failed: 'it broke',
    timeout: 'it did not answer in time',
    'no-image': 'it answered without the picture asked for',
  }),
  status: z.int().nullable().describe("The provider's own, where it failed with one"),
  reason: z.string().nullable().describe('Why it failed'),
  ms: count('Milliseconds'),
})

const inOtherWords = z
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
    tokens_prompt: count('Of the prompt'),
    tokens_completion: count('Of the answer'),
    native_tokens_prompt: count('Of the prompt'),
    native_tokens_completion: count('Of the answer'),
    native_tokens_cached: count('Read from a cache'),
    native_tokens_reasoning: count('Of the answer, spent on thinking'),
    native_tokens_completion_images: count('Of pictures drawn'),
    num_media_prompt: count('Pictures of the prompt'),
    num_media_completion: count('Pictures of the answer'),
  })
  .describe("The same in OpenRouter's words, for cost trackers")

export const generation = z
  .object({
    object: z.literal('generation'),
    id: id('gen-', 'Its id'),
    request_id: z.string().describe('As `X-Request-Id` named it'),
    created_at: moment('When it arrived'),
    key_id: id('key_', 'Whose'),
    key_name: z.string(),
    user: z.string().nullable().describe('The end user that it was for'),
    model: z.string().describe('The model that served, else the one asked for'),
    provider: z
      .string()
      .nullable()
      .describe('The upstream that was asked last; null where none was'),
    stream: z.boolean(),
    status: z.int().describe('The status sent; 499 where the client had left before one could be'),
    code: z.string().nullable().describe("The error's code; null on success"),
    ended_by: oneOf<EndedBy>('Who ended it', {
      completed: 'it ran to its end',
      client: 'the client hung up',
      upstream: 'the provider broke off',
      gateway: 'the gateway stopped',
      refused: 'it was not admitted',
    }),
    finish_reason: z.string().nullable(),
    cost_usd: usd('The charge: exactly what the ledger says'),
    cost_rub: rub('The charge'),
    rub_per_usd: text('The exchange rate that the charge is stamped with', '92.5').nullable(),
    price_version: id('price_', 'The version of the price list').nullable(),
    charged_at: moment('Null where nothing was charged').nullable(),
    lines: z.array(line).describe('What was counted × its price'),
    image: z
      .object({ resolution: z.string().nullable(), quality: z.string().nullable() })
      .nullable()
      .describe('Which picture was charged'),
    usage: z.object({
      prompt_tokens: count('Tokens of the prompt'),
      completion_tokens: count('Tokens of the answer'),
      total_tokens: count('Both together'),
      reasoning_tokens: count('Of the answer, spent on thinking'),
      images: count('Pictures that came'),
    }),
    usage_source: oneOf<UsageSource>('Whose count it is', {
      provider: "the provider's own",
      estimated: "the gateway's estimate",
    }).nullable(),
    queued_ms: count('From its arrival to its admission'),
    first_byte_ms: count('To the first content; null where none came').nullable(),
    total_ms: count('To its end'),
    attempts: z.array(attempt).describe('In order; empty where nobody was asked'),
    data: inOtherWords,
  })
  .describe('The receipt of a request that has ended.') satisfies z.ZodType<
  ReturnType<typeof renderGeneration>
>
