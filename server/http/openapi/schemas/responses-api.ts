/** OpenAI's Responses API as the gateway serves it: its answers come from the provider, so that most of their fields are open. */
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
    model: z.string().describe("The provider's own name of the model"),
    status: z.string().exactOptional(),
    output: z.array(z.looseObject({})),
    usage: usage.nullish(),
  })
  .describe("The provider's answer, byte for byte.")

export const responsesEvent = z
  .looseObject({ type: z.string() })
  .describe(
    "The provider's events, byte for byte; `response.completed` or `response.incomplete` comes once the charge is written. A failure is an `error` event and then `response.failed`, in the gateway's words.",
  )

export const ITEMS = {
  description:
    'A text, or items. Nothing is stored: reasoning is replayed by its `encrypted_content`, and a reference to an item is refused, or dropped where it is to reasoning',
  anyOf: [
    { type: 'string' },
    { type: 'array', items: { type: 'object', properties: {}, additionalProperties: true } },
  ],
} satisfies JsonSchema

const { stream, user, allow_fallbacks, models, provider } = CHAT_NOTES

/** Without `input`, which is read by hand. */
type ResponsesForm = Omit<z.input<typeof responsesForm>, 'input'>

export const RESPONSES_NOTES: Notes<ResponsesForm> = {
  model: 'A model that answers in this API: an id of `GET /v1/models`',
  max_output_tokens:
    'The bound of the answer. It also bounds the amount that is reserved while the request runs',
  safety_identifier: 'The same as `user`, which takes precedence',
  ...{ stream, user, allow_fallbacks, models, provider },
}
