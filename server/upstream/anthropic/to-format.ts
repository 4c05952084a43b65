/** Ours → theirs: the format of the answer. */
import type { JSONOutputFormat, TextBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import type { Format } from '#domain/conversation.ts'
import { mapSchemas } from '../json-schema.ts'
import { rejected } from '../rejected.ts'

interface OutputFormat {
  readonly format?: JSONOutputFormat
  /** A system instruction for `json_object`, which this API has no field for. */
  readonly instruction: readonly TextBlockParam[]
}

const JSON_ONLY = 'Answer with one valid JSON object and nothing else: no prose, no code fence.'

/** @throws UpstreamFailure `rejected` */
export function toFormat(format: Format | undefined): OutputFormat {
  if (format === undefined) return { instruction: [] }
  if (format.type === 'json') return { instruction: [{ type: 'text', text: JSON_ONLY }] }
  if (format.type !== 'schema' || format.schema === undefined) {
    throw rejected(
      'response_format',
      'must be "text", "json_object" or "json_schema" with a schema',
    )
  }
  return {
    format: { type: 'json_schema', schema: mapSchemas(format.schema, close) as JsonObject },
    instruction: [],
  }
}

/** The API requires `additionalProperties: false` on every object and refuses most bounds. It is added where it is unset. */
function close(schema: JsonObject): JsonObject {
  const kept = Object.fromEntries(
    Object.entries(schema).filter(([name, value]) => !isRefused(name, value)),
  )
  const isOpen = isOfObjects(schema['type']) && schema['additionalProperties'] === undefined
  return isOpen ? { ...kept, additionalProperties: false } : kept
}

const isOfObjects = (type: unknown): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object'))

/** Bounds that the API answers with a 400. Without them the answer still has the requested structure. */
const REFUSED = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

const isRefused = (name: string, value: unknown): boolean =>
  REFUSED.has(name) || (name === 'minItems' && typeof value === 'number' && value > 1)
