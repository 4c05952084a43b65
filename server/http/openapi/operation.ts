/** An operation of the document: its request, its responses and its error codes. */
import { ERROR_CODES } from '#domain/errors.ts'
import {
  statusOf as messagesStatusOf,
  typeOf as messagesTypeOf,
} from '../surfaces/messages/render-error.ts'
import { type HeaderName, headersOf, RATE_HEADERS, STATUS_HEADERS } from './headers.ts'
import type { JsonSchema } from './notes.ts'
import { type ParameterName, parameterRef } from './parameters.ts'
import { CODE_MEANINGS, type HttpCode } from './schemas/error.ts'
import { refTo, type SchemaName } from './schemas.ts'

/** The kind of key that an operation requires; null for none. */
type KeyOf = 'any' | 'ordinary' | 'provisioning' | null

export interface Operation {
  /** OpenAI's own where it has one. */
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly key: KeyOf
  readonly parameters?: readonly ParameterName[]
  readonly body?: { readonly schema: SchemaName; readonly mostBytes: number }
  readonly answers: readonly Answer[]
  /** Error codes in addition to those of its key, its body and every operation. */
  readonly codes?: readonly HttpCode[]
  /** On every response, errors included. */
  readonly headers?: readonly HeaderName[]
  /** Absent: OpenAI's. */
  readonly errors?: 'messages'
}

export interface Answer {
  readonly status: number
  readonly description: string
  /** Absent: the body is empty. */
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
  readonly headers?: readonly HeaderName[]
}

export const json = (schema: JsonSchema) => ({ 'application/json': { schema } })

/** A malformed `Host` and an internal error are possible everywhere. */
const CODES_EVERYWHERE: readonly HttpCode[] = ['invalid_request', 'internal_error']

const CODES_OF_KEY: readonly HttpCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_revoked',
  'api_key_expired',
  'api_key_disabled',
]

const CODES_OF_KIND: Readonly<Record<NonNullable<KeyOf>, readonly HttpCode[]>> = {
  any: CODES_OF_KEY,
  ordinary: [...CODES_OF_KEY, 'provisioning_key_not_allowed'],
  provisioning: [...CODES_OF_KEY, 'provisioning_key_required'],
}

const CODES_OF_BODY: readonly HttpCode[] = [
  'unsupported_media_type',
  'request_too_large',
  'invalid_json',
]

/** The Operation Object. */
export const renderOperation = (operation: Operation) => {
  const { operationId, tag, summary, description, key, parameters = [], body } = operation
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(key === null && { security: [] }),
    parameters: [...parameters, 'X-Request-Id' as const].map(parameterRef),
    ...(body && {
      requestBody: {
        required: true,
        description: `At most ${body.mostBytes} bytes.`,
        content: json(refTo(body.schema)),
      },
    }),
    responses: renderResponses(operation),
  }
}

function renderResponses({ key, body, answers, codes = [], headers = [], errors }: Operation) {
  const statusOf = errors === 'messages' ? messagesStatusOf : openAiStatusOf
  const common = [...headers, ...(key === null ? [] : RATE_HEADERS)]
  const all = [
    ...CODES_EVERYWHERE,
    ...(key === null ? [] : CODES_OF_KIND[key]),
    ...(body ? CODES_OF_BODY : []),
    ...codes,
  ]
  const responses: Record<string, unknown> = {}
  for (const answer of answers) {
    responses[answer.status] = {
      description: answer.description,
      headers: headersOf([...common, ...(answer.headers ?? [])]),
      ...(answer.content && { content: answer.content }),
    }
  }
  for (const status of new Set(all.map(statusOf))) {
    const those = [...new Set(all.filter((code) => statusOf(code) === status))]
    responses[status] =
      errors === 'messages'
        ? renderMessagesRefusal(status, those, common)
        : renderRefusal(status, those, common)
  }
  return responses
}

const openAiStatusOf = (code: HttpCode): number => ERROR_CODES[code][0]

/** The Response Object of an error status: the error body, restricted to the possible codes. */
export function renderRefusal(
  status: number,
  codes: readonly HttpCode[],
  headers: readonly HeaderName[] = [],
) {
  const types = [...new Set(codes.map((code) => ERROR_CODES[code][1]))]
  const fields: JsonSchema = {
    type: 'object',
    properties: { type: { enum: types }, code: { enum: [...codes] } },
  }
  return toRefusal(status, codes, headers, [
    refTo('Error'),
    { type: 'object', properties: { error: fields } },
  ])
}

/** The same in the envelope of Anthropic's API. */
function renderMessagesRefusal(
  status: number,
  codes: readonly HttpCode[],
  headers: readonly HeaderName[],
) {
  const fields: JsonSchema = {
    type: 'object',
    properties: {
      type: { enum: [...new Set(codes.map(messagesTypeOf))] },
      details: { type: 'object', properties: { code: { enum: [...codes] } } },
    },
  }
  return toRefusal(
    status,
    codes,
    ['Request-Id', ...headers.filter((name) => name !== 'Request-Id')],
    [refTo('MessagesError'), { type: 'object', properties: { error: fields } }],
  )
}

const toRefusal = (
  status: number,
  codes: readonly HttpCode[],
  headers: readonly HeaderName[],
  allOf: JsonSchema[],
) => ({
  description: codes.map((code) => `\`${code}\`: ${CODE_MEANINGS[code]}.`).join('\n\n'),
  headers: headersOf([...headers, ...(STATUS_HEADERS[status] ?? [])]),
  content: json({ allOf }),
})
