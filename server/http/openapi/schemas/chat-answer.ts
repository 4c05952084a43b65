/** A non-streamed chat answer: OpenAI's shape with prices; unknown fields pass through (contract §7). */
import { z } from 'zod'
import type { FinishReason } from '#domain/chat.ts'
import type { renderQuote } from '../../surfaces/answer-quote.ts'
import { errorFields } from './error.ts'
import { count, id, oneOf, rub, text, unixTime, usd } from './scalars.ts'
import { usage } from './usage.ts'

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'the model completed its answer',
  length: 'the maximum number of tokens was reached',
  tool_calls: 'the model calls tools',
  content_filter: 'the provider withheld content',
  error: 'the provider ended the answer early',
}

export const finishReason = oneOf<FinishReason>('Why the answer ended', FINISH_REASONS)
export const nativeFinishReason = z.string().nullable().describe("The provider's own finish reason")
export const logprobs = z
  .looseObject({})
  .nullable()
  .describe('Log probabilities, as the provider gave them')

/** An image of an answer (contract §7). */
export const image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: text('A data URL', 'data:image/png;base64,iVBORw0KGgo…') }),
  index: count('Its position among the images of this message'),
})

const toolCallId = z
  .string()
  .exactOptional()
  .describe('The id that the `tool` message with the result must name')

export const toolCall = z
  .discriminatedUnion('type', [
    z.looseObject({
      id: toolCallId,
      type: z.literal('function'),
      function: z.object({
        name: z.string().exactOptional(),
        arguments: z.string().describe('JSON, as the model wrote it'),
      }),
    }),
    z.looseObject({
      id: toolCallId,
      type: z.literal('custom'),
      custom: z.object({ name: z.string().exactOptional(), input: z.string() }),
    }),
  ])
  .describe('Send it back unchanged: additional fields may contain a signature.')

const message = z.looseObject({
  role: z.literal('assistant'),
  content: z
    .string()
    .nullable()
    .describe('`""` for an answer of images only; null only with `tool_calls`'),
  refusal: z.string().exactOptional().describe('The refusal of the model'),
  reasoning: z
    .string()
    .exactOptional()
    .describe('The reasoning of the model, where the provider returns it'),
  reasoning_content: z
    .string()
    .exactOptional()
    .describe('The same, for clients that know it by this name'),
  tool_calls: z.array(toolCall).exactOptional(),
  images: z.array(image).exactOptional().describe('Only in an answer with generated images'),
})

const choice = z.looseObject({
  index: count('0 unless `n` is above 1'),
  message,
  logprobs,
  finish_reason: finishReason,
  native_finish_reason: nativeFinishReason,
})

/** The fields that every chunk of a stream repeats. */
export const head = {
  id: id('gen-', 'The id of this generation, as `X-Generation-Id`'),
  created: unixTime('When the request arrived'),
  model: text('The model that served and is billed', 'acme/pixel-1'),
}

export const completion = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion'),
    provider: z.string().describe('The provider that served'),
    choices: z.array(choice),
    usage,
  })
  .describe(
    'A whole answer. Fields of the provider that the gateway does not know are passed through.',
  )

export const quote = z
  .object({
    object: z.literal('quote'),
    model: z.string().describe('The model asked for'),
    admitted: z
      .boolean()
      .describe(
        'Whether the request would be admitted now, and a provider of its route can be told it',
      ),
    error: errorFields
      .extend({ status: z.int().describe('The HTTP status of the refusal') })
      .nullable()
      .describe('The error that would refuse it'),
    max_cost_usd: usd('The highest possible cost, over all hops of the route'),
    max_cost_rub: rub('The same'),
    route: z
      .array(
        z.object({
          model: z.string(),
          provider: z.string(),
          max_cost_usd: usd('The highest possible cost at this hop'),
          max_output_tokens: z
            .int()
            .describe('The bound of the length of the answer, in tokens of one choice'),
          lowered: z
            .boolean()
            .describe(
              'Whether the bound is lower than your own, or than the maximum of the model if you state none',
            ),
        }),
      )
      .describe('The hops in the order in which they would be tried'),
  })
  .describe(
    'The answer to `X-Gateway-Dry-Run: true`. Nothing was consumed or charged, and no request was sent to a provider.',
  ) satisfies z.ZodType<ReturnType<typeof renderQuote>>
