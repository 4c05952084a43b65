/** What every operation of the HTTP API takes, does and answers, by its name in `paths.ts`. */
import type { API_PATHS, ROOT_PATHS } from '../paths.ts'
import { MAX_BODY_BYTES } from '../read/body.ts'
import { MAX_FORM_BYTES } from '../routes/keys.ts'
import { MOST_AT_ONCE, MOST_PER_MINUTE } from '../surfaces/messages/count-limits.ts'
import { json, type Operation } from './operation.ts'
import type { HttpCode } from './schemas/error.ts'
import { refTo, type SchemaName } from './schemas.ts'

/** Of every operation that asks a model, whatever it does. */
const CODES_OF_WORK = [
  'unsupported_parameter',
  'unsupported_operation',
  'context_length_exceeded',
  'daily_spend_limit_exceeded',
  'monthly_spend_limit_exceeded',
  'insufficient_balance',
  'model_not_allowed',
  'model_not_found',
  'idempotency_conflict',
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'spend_reserved',
  'upstream_error',
  'no_route_available',
  'upstream_overloaded',
  'unpriced_model',
  'shutting_down',
  'ended_by_operator',
  'store_unavailable',
  'gateway_overloaded',
  'descriptors_exhausted',
  'upstream_timeout',
] as const satisfies readonly HttpCode[]

/** One whose answer is no text: OpenAI's `list`, or a ranking. */
const resultOf = (
  of: Pick<Operation, 'operationId' | 'tag' | 'summary' | 'description'>,
  request: SchemaName,
  answer: SchemaName,
): Operation => ({
  ...of,
  key: 'ordinary',
  parameters: ['Idempotency-Key', 'X-Gateway-Dry-Run'],
  body: { schema: request, mostBytes: MAX_BODY_BYTES },
  headers: ['X-Generation-Id'],
  answers: [
    {
      status: 200,
      description: 'The whole answer; with `X-Gateway-Dry-Run` a quote.',
      headers: ['X-Gateway-Model', 'X-Gateway-Provider', 'Idempotent-Replayed'],
      content: json({ oneOf: [refTo(answer), refTo('Quote')] }),
    },
  ],
  codes: CODES_OF_WORK,
})

const MESSAGES_HEADERS = ['anthropic-version', 'anthropic-beta'] as const

const FORM = { mostBytes: MAX_FORM_BYTES } as const

export const API_OPERATIONS: Readonly<Record<keyof typeof API_PATHS, Operation>> = {
  chat: {
    operationId: 'createChatCompletion',
    tag: 'Chat',
    summary: 'Text and images, whole or streamed',
    description:
      'Checked in this order: key, kind of key, body, allow-list, model, modality, money, windows. A refused request consumes ' +
      'nothing. A client that disconnects pays for what was produced, and nothing before its request was written to a ' +
      'provider; the provider is cancelled within a second.',
    key: 'ordinary',
    parameters: ['Idempotency-Key', 'X-Gateway-Dry-Run'],
    body: { schema: 'ChatRequest', mostBytes: MAX_BODY_BYTES },
    headers: [
      'X-Generation-Id',
      'X-Gateway-Model',
      'X-Gateway-Provider',
      'X-Gateway-Max-Output-Tokens',
    ],
    answers: [
      {
        status: 200,
        description:
          'The whole answer; with `stream` an event stream of chunks; with `X-Gateway-Dry-Run` a quote.',
        headers: ['Cache-Control', 'X-Accel-Buffering', 'Idempotent-Replayed'],
        content: {
          ...json({
            oneOf: [refTo('ChatCompletion'), refTo('Quote')],
            discriminator: {
              propertyName: 'object',
              mapping: {
                'chat.completion': '#/components/schemas/ChatCompletion',
                quote: '#/components/schemas/Quote',
              },
            },
          }),
          'text/event-stream': { schema: refTo('ChatCompletionChunk') },
        },
      },
    ],
    codes: [
      ...CODES_OF_WORK,
      'image_streaming_not_supported',
      'unsupported_modality',
      'invalid_image',
      'too_many_images',
      'no_image_returned',
    ],
  },
  embeddings: resultOf(
    {
      operationId: 'createEmbedding',
      tag: 'Embeddings',
      summary: 'Vectors of texts',
      description:
        "For models of kind `embed`. A list that is longer than the provider takes is asked in parts, and charged once. A vector's format is what the request asks for, whatever the provider writes.",
    },
    'EmbeddingsRequest',
    'Embeddings',
  ),
  rerank: resultOf(
    {
      operationId: 'createRerank',
      tag: 'Rerank',
      summary: 'Documents in the order of their relevance to a query',
      description:
        'For models of kind `rerank`, which are billed by search units or by input tokens.',
    },
    'RerankRequest',
    'Ranking',
  ),
  responses: {
    operationId: 'createResponse',
    tag: 'Responses',
    summary: "OpenAI's Responses API, whole or streamed",
    description:
      'Served by every model that generates. One that answers in this API is asked in the client’s own words: the body leaves as it came ' +
      'but for `model`, `store` (always false), `include` (encrypted reasoning), the fields for routing, the bound of the answer, and ' +
      'tools of the vendor that no price is set for; the answer comes back byte for byte. Any other is asked in its own wire, and its ' +
      'answer is rendered in this one. Checks, limits, holds and charges are those of chat.',
    key: 'ordinary',
    parameters: ['Idempotency-Key', 'X-Gateway-Dry-Run', 'X-Gateway-Usage'],
    body: { schema: 'ResponsesRequest', mostBytes: MAX_BODY_BYTES },
    headers: [
      'X-Generation-Id',
      'X-Gateway-Model',
      'X-Gateway-Provider',
      'X-Gateway-Max-Output-Tokens',
    ],
    answers: [
      {
        status: 200,
        description:
          'The whole answer; with `stream` its events; with `X-Gateway-Dry-Run` a quote.',
        headers: ['Cache-Control', 'X-Accel-Buffering', 'Idempotent-Replayed'],
        content: {
          ...json({ anyOf: [refTo('ResponsesAnswer'), refTo('Quote')] }),
          'text/event-stream': { schema: refTo('ResponsesEvent') },
        },
      },
    ],
    codes: [...CODES_OF_WORK, 'unsupported_modality', 'invalid_image', 'too_many_images'],
  },
  messages: {
    operationId: 'createMessage',
    tag: 'Messages',
    summary: "Anthropic's Messages API, whole or streamed",
    description:
      'To a provider that speaks it the body leaves as it came but for `model`, the fields for routing and the bound of the answer, ' +
      'and its answer comes back byte for byte; for every other provider both are translated. Checks, limits, holds and charges ' +
      'are those of chat. ' +
      'The key may also come as `x-api-key`, without `Authorization`.',
    key: 'ordinary',
    parameters: [
      ...MESSAGES_HEADERS,
      'Idempotency-Key',
      'X-Gateway-Dry-Run',
      'X-Gateway-Models',
      'X-Gateway-Allow-Fallbacks',
      'X-Gateway-Usage',
    ],
    body: { schema: 'MessagesRequest', mostBytes: MAX_BODY_BYTES },
    errors: 'messages',
    headers: [
      'Request-Id',
      'X-Upstream-Request-Id',
      'X-Generation-Id',
      'X-Gateway-Model',
      'X-Gateway-Provider',
      'X-Gateway-Max-Output-Tokens',
    ],
    answers: [
      {
        status: 200,
        description:
          'The whole message; with `stream` its events; with `X-Gateway-Dry-Run` a quote.',
        headers: ['Cache-Control', 'X-Accel-Buffering', 'Idempotent-Replayed'],
        content: {
          ...json({ oneOf: [refTo('MessagesAnswer'), refTo('Quote')] }),
          'text/event-stream': { schema: refTo('MessagesEvent') },
        },
      },
    ],
    codes: [
      'unsupported_parameter',
      'unsupported_operation',
      'unsupported_modality',
      'invalid_image',
      'too_many_images',
      'context_length_exceeded',
      'daily_spend_limit_exceeded',
      'monthly_spend_limit_exceeded',
      'insufficient_balance',
      'model_not_allowed',
      'model_not_found',
      'idempotency_conflict',
      'rate_limit_exceeded',
      'concurrency_limit_exceeded',
      'spend_reserved',
      'upstream_error',
      'no_route_available',
      'upstream_overloaded',
      'unpriced_model',
      'shutting_down',
      'ended_by_operator',
      'store_unavailable',
      'gateway_overloaded',
      'descriptors_exhausted',
      'upstream_timeout',
    ],
  },
  'messages.count': {
    operationId: 'countMessageTokens',
    tag: 'Messages',
    summary: 'How many tokens a prompt has',
    description:
      'By the provider where it counts, else by estimate. Takes no money and no slot of a window, also at a spent ceiling; at most ' +
      `${MOST_AT_ONCE} at once and ${MOST_PER_MINUTE} a minute for each key.`,
    key: 'ordinary',
    parameters: MESSAGES_HEADERS,
    body: { schema: 'MessagesRequest', mostBytes: MAX_BODY_BYTES },
    errors: 'messages',
    answers: [{ status: 200, description: 'The count.', content: json(refTo('MessagesCount')) }],
    codes: [
      'unsupported_parameter',
      'invalid_image',
      'too_many_images',
      'context_length_exceeded',
      'model_not_allowed',
      'model_not_found',
      'rate_limit_exceeded',
      'concurrency_limit_exceeded',
      'no_route_available',
      'unpriced_model',
      'shutting_down',
      'gateway_overloaded',
    ],
  },
  models: {
    operationId: 'listModels',
    tag: 'Models',
    summary: 'The models that the key may call',
    description:
      'Aliases are listed as models of their own. With `anthropic-version` in the form of Anthropic’s API, a page at a time. Takes no ' +
      'slot of a window.',
    key: 'ordinary',
    parameters: [
      'output_modalities',
      'q',
      'anthropic-version',
      'mostModels',
      'after_id',
      'before_id',
    ],
    answers: [
      {
        status: 200,
        description: 'The cards.',
        content: json({ oneOf: [refTo('ModelList'), refTo('MessagesModels')] }),
      },
    ],
  },
  model: {
    operationId: 'retrieveModel',
    tag: 'Models',
    summary: 'One model',
    description: 'Takes no slot of a window.',
    key: 'ordinary',
    parameters: ['provider', 'model', 'anthropic-version'],
    answers: [
      {
        status: 200,
        description: 'The card.',
        content: json({ oneOf: [refTo('Model'), refTo('MessagesModel')] }),
      },
    ],
    codes: ['model_not_allowed', 'model_not_found'],
  },
  key: {
    operationId: 'getCurrentKey',
    tag: 'Key',
    summary: "The key's limits, spend, requests in progress, and the balance",
    description: 'Takes no slot of a window, and answers when every limit is exhausted.',
    key: 'any',
    answers: [
      { status: 200, description: 'Limits, usage and balance.', content: json(refTo('KeyInfo')) },
    ],
  },
  generation: {
    operationId: 'getGeneration',
    tag: 'Chat',
    summary: 'The receipt of a request that has ended',
    description: 'For any ordinary key of its account. Takes no slot of a window.',
    key: 'ordinary',
    parameters: ['generationId'],
    answers: [{ status: 200, description: 'The receipt.', content: json(refTo('Generation')) }],
    codes: ['generation_not_found'],
  },
  'keys.issue': {
    operationId: 'createKey',
    tag: 'Keys',
    summary: 'Issues an ordinary key',
    key: 'provisioning',
    body: { schema: 'KeyIssue', ...FORM },
    answers: [
      {
        status: 201,
        description: 'The key, with its secret.',
        headers: ['Cache-Control'],
        content: json(refTo('IssuedKey')),
      },
    ],
    codes: [
      'unknown_parameter',
      'concurrency_limit_exceeded',
      'store_unavailable',
      'gateway_overloaded',
    ],
  },
  'keys.list': {
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'The keys of the account, newest first',
    key: 'provisioning',
    parameters: ['limit', 'after', 'include_revoked'],
    answers: [{ status: 200, description: 'A page of keys.', content: json(refTo('KeyList')) }],
  },
  'keys.show': {
    operationId: 'getKey',
    tag: 'Keys',
    summary: 'One key of the account',
    key: 'provisioning',
    parameters: ['keyId'],
    answers: [{ status: 200, description: 'The key.', content: json(refTo('Key')) }],
    codes: ['key_not_found'],
  },
  'keys.amend': {
    operationId: 'updateKey',
    tag: 'Keys',
    summary: 'Changes a key, from its next request',
    key: 'provisioning',
    parameters: ['keyId'],
    body: { schema: 'KeyAmendment', ...FORM },
    answers: [{ status: 200, description: 'The key.', content: json(refTo('AmendedKey')) }],
    codes: [
      'unknown_parameter',
      'provisioning_key_not_allowed',
      'key_not_found',
      'key_revoked',
      'concurrency_limit_exceeded',
      'store_unavailable',
      'gateway_overloaded',
    ],
  },
  'keys.revoke': {
    operationId: 'deleteKey',
    tag: 'Keys',
    summary: 'Revokes a key permanently, from its next request',
    description: 'Running streams are completed. Repeating it changes nothing.',
    key: 'provisioning',
    parameters: ['keyId'],
    answers: [
      { status: 200, description: 'The key is revoked.', content: json(refTo('RevokedKey')) },
    ],
    codes: ['provisioning_key_not_allowed', 'key_not_found', 'store_unavailable'],
  },
}

/** They need no key. */
export const ROOT_OPERATIONS: Readonly<Record<keyof typeof ROOT_PATHS, Operation>> = {
  root: {
    operationId: 'greet',
    tag: 'Service',
    summary: 'Whether anything is here',
    key: null,
    answers: [{ status: 200, description: 'Empty.' }],
  },
  openapi: {
    operationId: 'getOpenapi',
    tag: 'Service',
    summary: 'This document',
    key: null,
    answers: [{ status: 200, description: 'OpenAPI 3.1.', content: json({ type: 'object' }) }],
  },
  healthz: {
    operationId: 'getHealth',
    tag: 'Service',
    summary: 'Liveness',
    key: null,
    answers: [{ status: 200, description: 'The process is alive.', content: json(refTo('Alive')) }],
  },
  readyz: {
    operationId: 'getReadiness',
    tag: 'Service',
    summary: 'Readiness',
    key: null,
    answers: [
      { status: 200, description: 'It should get traffic.', content: json(refTo('Readiness')) },
      { status: 503, description: 'It should not get traffic.', content: json(refTo('Readiness')) },
    ],
  },
}
