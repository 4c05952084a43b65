/** The error body of the HTTP API, and the meaning of each code (contract §3). */
import { z } from 'zod'
import type { ErrorCode } from '#domain/errors.ts'
import { moment } from './scalars.ts'

/** Codes of operator commands only; the HTTP API never returns them. */
export const OPERATOR_CODES = [
  'account_not_found',
  'provider_not_found',
  'notice_not_found',
  'client_not_found',
  'group_not_found',
  'person_not_found',
  'role_not_allowed',
  'already_exists',
  'account_closed',
] as const satisfies readonly ErrorCode[]

export type HttpCode = Exclude<ErrorCode, (typeof OPERATOR_CODES)[number]>

/** Every code of the HTTP API; a new one does not compile until it is explained here. */
export const CODE_MEANINGS: Readonly<Record<HttpCode, string>> = {
  invalid_json: 'the body is not valid JSON',
  invalid_request: 'a field or header is invalid; `param` names it',
  unknown_parameter: 'the body contains an unknown field; `param` names it',
  unsupported_parameter:
    "the field costs extra at the model's vendor, and the model's card has no price for it, or no provider of the model has a word for it, or it names what is kept in the operator's account at a provider; `param` names it",
  image_streaming_not_supported: 'image output cannot be streamed; omit `stream`',
  unsupported_operation:
    'the model does something else, or no provider of it has an API for the operation; the message names what does',
  unsupported_modality: 'the model does not support a requested input or output modality',
  invalid_image: 'an input image is neither a data URL with valid base64 nor an https URL',
  too_many_images: 'the request exceeds the maximum number of input images',
  context_length_exceeded: "the prompt exceeds the model's context length",
  missing_api_key:
    'the `Authorization: Bearer` header is missing, and under `/v1/messages` the `x-api-key` header too; keys are not accepted elsewhere',
  invalid_api_key: 'the key does not exist',
  api_key_revoked: 'the key was revoked',
  api_key_expired: 'the key has expired',
  api_key_disabled: 'the key is disabled',
  daily_spend_limit_exceeded: 'the daily ceiling is exhausted; it resets at midnight UTC',
  monthly_spend_limit_exceeded:
    'the monthly ceiling is exhausted; it resets at midnight UTC on the first of the month',
  insufficient_balance: "the account's balance is exhausted; a top-up is required",
  model_not_allowed: "the key's `allowed_models` do not include the model",
  provisioning_key_required: 'the operation requires a provisioning key',
  provisioning_key_not_allowed:
    'a provisioning key cannot call models, and only the operator can change one',
  model_not_found: 'the model does not exist',
  key_not_found: 'the account has no key with this id',
  generation_not_found: 'the generation does not exist, or has not ended yet',
  route_not_found: 'the path does not exist',
  method_not_allowed: 'the path does not support the method; `Allow` lists those that it supports',
  key_revoked: 'the key is revoked and cannot be changed',
  idempotency_conflict:
    'the first request with this `Idempotency-Key` is still running, or had a different body',
  request_too_large: 'the body exceeds `metadata.limit_value` bytes',
  unsupported_media_type: 'the body is not `application/json`, or has a `Content-Encoding`',
  websocket_not_supported: 'there are no WebSockets here; send the same by POST',
  rate_limit_exceeded:
    'a request limit is exhausted; `metadata.limit` names it, and `Retry-After` says when the next request is possible',
  concurrency_limit_exceeded:
    'too many requests of the key are in progress, or they take too much memory (`key_memory_bytes`); it lifts when one of them ends',
  spend_reserved: 'requests in progress reserve the rest of a ceiling or of the balance',
  internal_error: "an internal error of the gateway; the operator's log has the details",
  upstream_error: 'the provider failed, and no fallback was possible or allowed',
  no_image_returned: 'the provider answered without an image; nothing was charged',
  no_route_available: 'no provider that the request allows serves the model',
  upstream_overloaded: 'the provider is overloaded',
  unpriced_model: 'the model has no price yet, and is not served without one',
  shutting_down: 'the gateway is shutting down; retry in a moment',
  ended_by_operator: 'the operator ended the request; the output so far is charged',
  store_unavailable: 'the gateway cannot write to its disk; nothing was consumed or charged',
  gateway_overloaded:
    'the gateway has no memory for another body or long answer; nothing was consumed or charged',
  descriptors_exhausted:
    'the gateway has no free file descriptor for a connection; no request was sent to a provider',
  upstream_timeout: 'the provider did not answer in time',
}

const HTTP_CODES = Object.keys(CODE_MEANINGS) as readonly HttpCode[]

export const metadata = z
  .object({
    limit: z
      .string()
      .exactOptional()
      .describe(
        'The limit that was reached: a field of the key, `balance_usd`, `context_length`, `input_images`, `input_entries`, `documents`, `counts_at_once`, `counts_per_minute`, `body_bytes`, `key_memory_bytes`, `memory_bytes` or `open_files`',
      ),
    limit_of: z
      .literal('account')
      .exactOptional()
      .describe("Where the limit is the account's, of all its keys together"),
    limit_value: z.union([z.string(), z.number()]).exactOptional().describe('Its value'),
    used: z.union([z.string(), z.number()]).exactOptional().describe('How much of it is used'),
    resets_at: moment('When it resets by itself; null if it does not').nullable().exactOptional(),
    held_usd: z
      .string()
      .exactOptional()
      .describe('With `spend_reserved`: what requests in progress hold of it'),
    requests_in_progress: z.int().exactOptional().describe('How many those are'),
    provider: z.string().exactOptional().describe('The provider that failed'),
    provider_status: z.int().exactOptional().describe("The provider's HTTP status"),
  })
  .describe('The limit that was reached, or the provider that failed.')

/** The `error` object of an error response, a chunk and a quote. */
export const errorFields = z.object({
  message: z.string().describe('For people: what is wrong and what to do next'),
  type: z.string().describe("OpenAI's class of the error"),
  param: z.string().nullable().describe('The path of the offending field'),
  code: z.enum(HTTP_CODES).describe('For programs; each response lists its possible codes'),
  metadata: metadata.exactOptional(),
})

const request_id = z.string().describe('As `X-Request-Id`')

export const error = z.object({ error: errorFields, request_id })

/** The additional fields of a chunk when a stream fails. */
export const errorInChunk = {
  error: errorFields.exactOptional(),
  request_id: request_id.exactOptional(),
}
