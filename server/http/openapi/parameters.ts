/** Parameters of a request: path, query and headers. */

import { MAX_LISTED } from '../read/key-request.ts'
import { ACCEPTED_ID } from '../request-context.ts'
import { PRINTABLE } from '../surfaces/answer.ts'
import { MAX_PAGE, USUAL_PAGE } from '../wire/render-messages-model.ts'
import type { JsonSchema } from './notes.ts'

interface Parameter {
  readonly name: string
  readonly in: 'header' | 'path' | 'query'
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
  readonly example?: unknown
}

const PARAMETERS = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your own id for the request. One that does not match the pattern, or contains an API key, is replaced, not refused',
    schema: { type: 'string', pattern: ACCEPTED_ID.source },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a retry safe: for 24 hours, the same key with the same body gets the same answer, and is charged once; after a failure or a disconnect it is a new run. One that contains an API key is refused',
    schema: { type: 'string', pattern: PRINTABLE.source },
  },
  'X-Gateway-Dry-Run': {
    name: 'X-Gateway-Dry-Run',
    in: 'header',
    description:
      '`true` asks for a quote instead of an answer: no slot and no money is taken, and no provider is asked. Values other than `true` and `false` are refused',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'anthropic-version': {
    name: 'anthropic-version',
    in: 'header',
    description:
      'Passed on as sent. Whatever the path, it makes errors those of Anthropic, and lists of models too',
    schema: { type: 'string' },
    example: '2023-06-01',
  },
  'anthropic-beta': {
    name: 'anthropic-beta',
    in: 'header',
    description: 'Passed on as sent, but for `oauth-*` and `message-threads-*`',
    schema: { type: 'string' },
  },
  'X-Gateway-Models': {
    name: 'X-Gateway-Models',
    in: 'header',
    description: 'As the field `models`, with commas, for clients that cannot add a field',
    schema: { type: 'string' },
  },
  'X-Gateway-Allow-Fallbacks': {
    name: 'X-Gateway-Allow-Fallbacks',
    in: 'header',
    description: 'As the field `allow_fallbacks`',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'X-Gateway-Usage': {
    name: 'X-Gateway-Usage',
    in: 'header',
    description: '`1` puts `cost` and `cost_rub` into the last `usage` of the answer',
    schema: { type: 'string', enum: ['1'] },
  },
  provider: {
    name: 'provider',
    in: 'path',
    required: true,
    description: 'The part of a model id before its first slash',
    schema: { type: 'string' },
    example: 'acme',
  },
  model: {
    name: 'model',
    in: 'path',
    required: true,
    description:
      'The rest of it. Further slashes may be sent as they are or as `%2F`, like the first',
    schema: { type: 'string' },
    example: 'pixel-1',
  },
  output_modalities: {
    name: 'output_modalities',
    in: 'query',
    description: 'Only models with all of these output modalities, separated by commas',
    schema: { type: 'string' },
    example: 'image',
  },
  q: {
    name: 'q',
    in: 'query',
    description: 'Only models with all of these words in their id, name or description',
    schema: { type: 'string' },
  },
  mostModels: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of models; only with `anthropic-version`',
    schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: USUAL_PAGE },
  },
  after_id: {
    name: 'after_id',
    in: 'query',
    description:
      'The `last_id` of the previous page; only with `anthropic-version`. One that is not listed is refused',
    schema: { type: 'string' },
  },
  before_id: {
    name: 'before_id',
    in: 'query',
    description:
      'The `first_id` of the next page; only with `anthropic-version`. One that is not listed is refused',
    schema: { type: 'string' },
  },
  generationId: {
    name: 'id',
    in: 'query',
    required: true,
    description: 'The id of an answer, or its `X-Generation-Id`',
    schema: { type: 'string' },
    example: 'gen-01k3e5q9zzzzzzzzzzzzzzzzzz',
  },
  keyId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of a key',
    schema: { type: 'string' },
    example: 'key_01m7ysvvb5e6bpvyd6e6ytw18y',
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of keys',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LISTED, default: MAX_LISTED },
  },
  after: {
    name: 'after',
    in: 'query',
    description: 'The `last_id` of the previous page. The id of no key is refused',
    schema: { type: 'string', pattern: '^key_' },
  },
  include_revoked: {
    name: 'include_revoked',
    in: 'query',
    description: 'Whether to include revoked keys',
    schema: { type: 'boolean', default: false },
  },
} satisfies Readonly<Record<string, Parameter>>

export type ParameterName = keyof typeof PARAMETERS

/** `components.parameters`. */
export const renderParameters = (): Readonly<Record<string, Parameter>> => PARAMETERS

export const parameterRef = (name: ParameterName) => ({ $ref: `#/components/parameters/${name}` })
