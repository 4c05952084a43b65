/** OpenAI's Responses API as the gateway serves it: many of its answers come from the provider, so that most of their fields are open. */
import { z } from 'zod'
import type { responsesForm } from '../../surfaces/responses/read-request.ts'
import type { JsonSchema, Notes } from '../notes.ts'
import { CHAT_NOTES } from './chat-request.ts'

const usage = z.looseObject({
  input_tokens: z.int().exactOptional(),
  output_tokens: z.int().exactOptional(),
  cost: z.number().exactOptional().describe('In US dollars; only with `X-Gateway-Usage: 1`'),
  cost_rub: z.number().exactOptional().describe('The same in roubles'),
})

export const responsesAnswer = z
  .looseObject({
    id: z.string(),
    model: z
      .string()
      .describe("Of a model that answers in this API the provider's own name, else its id here"),
    status: z.string().exactOptional(),
    output: z.array(z.looseObject({})),
    usage: usage.nullish(),
  })
  .describe(
    "The answer of a model that answers in this API, byte for byte; else the gateway's, with `store` false and what was asked.",
  )

export const responsesEvent = z
  .looseObject({ type: z.string() })
  .describe(
    "The provider's events, byte for byte, else the gateway's, numbered from 0; `response.completed` or `response.incomplete` comes once the charge is written. A failure is an `error` event and then `response.failed`, in the gateway's words.",
  )

export const ITEMS = {
  description:
    'A text, or items. Nothing is stored: reasoning is replayed by its `encrypted_content`, which only the model that thought it gets, and a reference to an item is refused, or dropped where it is to reasoning',
  anyOf: [
    { type: 'string' },
    { type: 'array', items: { type: 'object', properties: {}, additionalProperties: true } },
  ],
} satisfies JsonSchema

const { stream, user, safety_identifier, allow_fallbacks, models, provider } = CHAT_NOTES

/** Without `input`, which is read by hand. */
type ResponsesForm = Omit<z.input<typeof responsesForm>, 'input'>

export const RESPONSES_NOTES: Notes<ResponsesForm> = {
  model: 'An id of `GET /v1/models`, or another name of the model',
  max_output_tokens:
    'The bound of the answer. It also bounds the amount that is reserved while the request runs',
  ...{ stream, user, safety_identifier, allow_fallbacks, models, provider },
}
