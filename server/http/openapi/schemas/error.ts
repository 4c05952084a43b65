/** The one error body of the HTTP API, and what each of its codes means (contract §3). */
import { z } from 'zod'
import type { ErrorCode } from '#domain/errors.ts'
import { moment } from './scalars.ts'

/** Only an operator's commands end with these; they are no part of this interface. */
export const OPERATOR_CODES = [
  'account_not_found',
  'provider_not_found',
  'notice_not_found',
  'client_not_found',
  'person_not_found',
  'already_exists',
] as const satisfies readonly ErrorCode[]

export type HttpCode = Exclude<ErrorCode, (typeof OPERATOR_CODES)[number]>

/** Every code that this interface answers with; a new one does not compile before it is explained here. */
export const CODE_MEANINGS: Readonly<Record<HttpCode, string>> = {
  invalid_json: 'the body is not JSON',
  invalid_request: '`param` is the path to the field, or the header, that does not fit',
  unknown_parameter: 'a key record has no such field',
  image_streaming_not_supported: 'an image arrives whole; leave out `stream`',
  unsupported_modality: 'the model does not take or does not draw what was asked for',
  invalid_image: 'an input image is neither a data URL whose base64 decodes nor an https address',
  too_many_images: 'more input images than a request may carry',
  context_length_exceeded: "the prompt is longer than the model's context",
  missing_api_key: 'no `Authorization: Bearer`; a key anywhere else is no key',
  invalid_api_key: 'there is no such key',
  api_key_revoked: 'the key was revoked',
  api_key_expired: 'the key has expired',
  api_key_disabled: 'the key is disabled',
  daily_spend_limit_exceeded: 'until midnight UTC, or until the ceiling is raised',
  monthly_spend_limit_exceeded: 'until the first of the month UTC, or until the ceiling is raised',
  insufficient_balance: 'until the account is topped up',
  model_not_allowed: "the model is outside the key's `allowed_models`",
  provisioning_key_required: 'an ordinary key does not manage keys',
  provisioning_key_not_allowed:
    'a provisioning key neither calls models nor is changed over HTTP; that is for the operator',
  model_not_found: 'there is no such model',
  key_not_found: 'the account has no such key',
  generation_not_found: 'there is no such generation, or it has not ended yet',
  route_not_found: 'there is nothing at this address',
  method_not_allowed: '`Allow` names the methods that this address knows',
  key_revoked: 'a revoked key cannot be changed',
  idempotency_conflict: 'the first request is still running, or had another body',
  request_too_large: '`metadata.limit_value` is the most bytes that a body may have',
  unsupported_media_type: 'send JSON, without a `Content-Encoding`',
  rate_limit_exceeded: '`metadata.limit` says which window; `Retry-After` when a slot frees',
  concurrency_limit_exceeded: 'a place frees when a running request ends',
  spend_reserved: 'running requests hold the rest of a ceiling or of the balance',
  internal_error: 'a fault of the gateway; its log has the rest',
  upstream_error: 'the provider failed, or no fallback was allowed',
  no_image_returned: 'the provider answered without an image; nothing was charged',
  no_route_available: 'no provider that the request allows serves the model',
  upstream_overloaded: 'the provider takes no more at the moment',
  unpriced_model: 'a model without a price is refused, never free',
  shutting_down: 'the gateway stops; ask again in a moment',
  ended_by_operator: 'whoever runs the gateway ended the request; what came of it is charged',
  store_unavailable: 'the gateway cannot write to its disk; nothing was taken or charged',
  descriptors_exhausted:
    'the gateway has no file descriptor left to reach a provider with; no provider was asked',
  upstream_timeout: 'the provider did not answer in time',
}

const HTTP_CODES = Object.keys(CODE_MEANINGS) as readonly HttpCode[]

const metadata = z
  .object({
    limit: z
      .string()
      .exactOptional()
      .describe(
        'Which limit: a field of the key, `balance_usd`, `input_images`, `body_bytes` or `open_files`',
      ),
    limit_value: z.union([z.string(), z.number()]).exactOptional().describe('Its value'),
    used: z.union([z.string(), z.number()]).exactOptional().describe('What is used of it'),
    resets_at: moment('When it lifts by itself; null where it does not').nullable().exactOptional(),
    provider: z.string().exactOptional().describe('Whose failure it is'),
    provider_status: z.int().exactOptional().describe("The provider's own status"),
  })
  .describe('Which limit refused, or whose failure it was.')

/** What stands in `error`, in an answer, in a chunk and in a quote. */
export const errorFields = z.object({
  message: z.string().describe('For people; says what to do next'),
  type: z.string().describe("OpenAI's class of the error"),
  param: z.string().nullable().describe('Path to the field that is at fault'),
  code: z.enum(HTTP_CODES).describe('For programs; each status lists those it comes with'),
  metadata: metadata.exactOptional(),
})

const request_id = z.string().describe('As `X-Request-Id`')

export const error = z.object({ error: errorFields, request_id })

/** The fields that a chunk carries beside its choices when a stream breaks. */
export const errorInChunk = {
  error: errorFields.exactOptional(),
  request_id: request_id.exactOptional(),
}
