/** Anthropic's Messages API as the gateway serves it: many of its answers come from the provider, so that most of their fields are open. */
import { z } from 'zod'
import type { messagesForm } from '../../surfaces/messages/read-request.ts'
import type { Notes } from '../notes.ts'
import { CHAT_NOTES } from './chat-request.ts'
import { metadata } from './error.ts'
import { moment } from './scalars.ts'

const usage = z.looseObject({
  input_tokens: z.int().exactOptional(),
  output_tokens: z.int().exactOptional(),
  cost: z.number().exactOptional().describe('In US dollars; only with `X-Gateway-Usage: 1`'),
  cost_rub: z.number().exactOptional().describe('The same in roubles'),
})

export const messagesAnswer = z
  .looseObject({
    type: z.literal('message'),
    id: z.string(),
    role: z.literal('assistant'),
    model: z
      .string()
      .describe("The provider's own name of the model; in a translated answer its id here"),
    content: z
      .array(z.looseObject({ type: z.string(), text: z.string().exactOptional() }))
      .describe('Blocks, in the order in which they were said'),
    stop_reason: z.string().nullable(),
    usage,
  })
  .describe("The answer: byte for byte the provider's where it speaks this API.")

export const messagesEvent = z
  .looseObject({ type: z.string() })
  .describe(
    "Events, byte for byte the provider's where it speaks this API, `ping` among them; `message_stop` comes once the charge is written. A failure is an `error` event with the envelope of errors, and nothing after it.",
  )

export const messagesCount = z.looseObject({ input_tokens: z.int() })

export const messagesModel = z
  .object({
    type: z.literal('model'),
    id: z.string().describe('Its id, or another name of it'),
    display_name: z.string(),
    created_at: moment('When it came to the catalogue'),
    max_input_tokens: z.int().nullable().describe('Its context'),
    max_tokens: z.int().nullable().describe('The most tokens of an answer'),
    capabilities: z.null(),
    lifecycle: z.literal('active'),
    deprecated_at: z.null(),
    retires_at: z.null(),
    line: z.null(),
  })
  .describe('A model, for a request with `anthropic-version`.')

export const messagesModels = z
  .object({
    data: z.array(messagesModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .describe('A page of models, for a request with `anthropic-version`.')

const details = metadata
  .extend({
    code: z.string().describe('For programs, as `error.code` elsewhere'),
    param: z.string().exactOptional().describe('The path of the offending field'),
    error_code: z.string().exactOptional().describe("The provider's own word for a thread"),
    unsupported: z.array(z.string()).exactOptional().describe('Who does not support it'),
  })
  .describe('The code, and what is `metadata` elsewhere.')

export const messagesError = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.string().describe("Anthropic's class of the error"),
    message: z.string().describe('For people: what is wrong and what to do next'),
    details,
  }),
  request_id: z.string().describe('As `Request-Id` and `X-Request-Id`'),
})

export const MESSAGES_NOTES: Notes<z.input<typeof messagesForm>> = {
  model: {
    description: 'A model that generates answers: an id of `GET /v1/models`',
    examples: ['anthropic/claude-sonnet-4-5'],
  },
  max_tokens:
    'The bound of the answer: held as stated, and lowered only to the limit of the key or of the model',
  stream: { description: 'Whether the answer comes as events', default: false },
  messages: {
    description:
      'The conversation. Roles, blocks and their fields are for the provider to judge, or for the translation',
  },
  metadata: {
    description: 'Whom the request is for',
    fields: {
      user_id:
        'The id of your end user; of the JSON that Claude Code sends it is the account or the device',
    },
  },
  allow_fallbacks: CHAT_NOTES.allow_fallbacks,
  models: CHAT_NOTES.models,
  provider: CHAT_NOTES.provider,
}
