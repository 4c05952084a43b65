/** The receipt of one request: counts × prices, attempts, durations, and how it ended (contract §7). */

import { z } from 'zod'
import type { EndedBy } from '#domain/activity.ts'
import type { UsageSource } from '#domain/ledger.ts'
import { PRICE_CLASSES, type PriceClass, SERVER_TOOL_CALLS } from '#domain/pricing.ts'
import type { ReceiptAttempt } from '#domain/receipt.ts'
import { DIALECTS } from '#domain/work.ts'
import type { renderGeneration } from '../../wire/render-generation.ts'
import { count, id, moment, oneOf, rub, text, usd, usdNumber } from './scalars.ts'

const line = z.object({
  class: z
    .enum([...PRICE_CLASSES.map(({ name }) => name), SERVER_TOOL_CALLS])
    .describe('The class of usage'),
  unit: oneOf<PriceClass['unit']>('', {
    token: 'per token',
    image: 'per image',
    search_unit: 'per search unit: a query with up to a hundred documents',
    request: 'per request',
    call: 'per call of a tool that the vendor runs',
  }),
  tool: text('The tool that was called', 'web_search').exactOptional(),
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
    answered: 'the provider answered',
    left: 'the client disconnected',
    stopped: 'the gateway ended the request',
    rejected: 'the provider rejected the request',
    unauthorized: "the provider rejected the gateway's credential",
    overloaded: 'the provider was overloaded',
    failed: 'the provider failed, or ended the answer early',
    timeout: 'the provider did not answer in time',
    'no-image': 'the provider answered without the requested image',
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
    surface: z.enum(DIALECTS).describe('The surface that it came to'),
    session: z
      .string()
      .nullable()
      .describe(
        'The session that it names (`prompt_cache_key`, `X-Claude-Code-Session-Id`, `Session-Id`); null if none',
      ),
    model: z.string().describe('The model that served, or the requested one if none did'),
    provider: z.string().nullable().describe('The provider that was tried last; null if none was'),
    stream: z.boolean(),
    status: z.int().describe('The HTTP status; 499 if the client disconnected before it was sent'),
    code: z.string().nullable().describe("The error's code; null on success"),
    ended_by: oneOf<EndedBy>('Who ended the request', {
      completed: 'the answer is complete',
      client: 'the client disconnected',
      upstream: 'the provider failed',
      gateway: 'the gateway ended it',
      refused: 'it was not admitted',
    }),
    finish_reason: z.string().nullable(),
    cost_usd: usd('The charge, exactly as in the ledger'),
    cost_rub: rub('The charge'),
    rub_per_usd: text('The exchange rate of the charge', '92.5').nullable(),
    price_version: id('price_', 'The version of the price list').nullable(),
    charged_at: moment('When it was charged; null if it was not').nullable(),
    lines: z.array(line).describe('Each class of usage × its price'),
    modifiers: z
      .array(z.string())
      .describe('Factors that the prices of the lines include, such as `service_tier=priority`'),
    cut_tools: z
      .array(z.string())
      .describe(
        'Types of tools of the vendor that were cut from the request, because its model has no price for them',
      ),
    image: z
      .object({ resolution: z.string().nullable(), quality: z.string().nullable() })
      .nullable()
      .describe('The size and quality that were charged'),
    max_output_tokens: count(
      'The bound of the answer in tokens, if it was lower than your own, or than the maximum of the model',
    ).nullable(),
    usage: z.object({
      prompt_tokens: count('Tokens of the prompt'),
      completion_tokens: count('Tokens of the answer'),
      total_tokens: count('The sum of both'),
      reasoning_tokens: count('Tokens of the answer that were reasoning'),
      images: count('Images that were returned'),
    }),
    usage_source: oneOf<UsageSource>('The source of the counts', {
      provider: 'the provider',
      estimated: 'an estimate of the gateway',
    }).nullable(),
    queued_ms: count('Milliseconds from arrival to admission'),
    first_byte_ms: count('Milliseconds to the first content; null if there was none').nullable(),
    total_ms: count('Milliseconds to its end'),
    attempts: z.array(attempt).describe('In order; empty if no provider was tried'),
    data: openRouterFields,
  })
  .describe('The receipt of a request that has ended.') satisfies z.ZodType<
  ReturnType<typeof renderGeneration>
>
