/** A schema that an answer has to follow, in the members that it has in all of OpenAI's wires. */
import type { JsonObject } from '#domain/chat.ts'
import type { Format } from '#domain/conversation.ts'
import { rejected } from '../../rejected.ts'

/** @throws UpstreamFailure `rejected` for a format that is none */
export function toSchemaFormat(format: Format): JsonObject {
  if (format.type !== 'schema' || format.schema === undefined) {
    throw rejected('response_format', 'cannot be said on this wire')
  }
  const { name = 'answer', description, schema, isStrict } = format
  return {
    name,
    schema,
    ...(description !== undefined && { description }),
    ...(isStrict !== undefined && { strict: isStrict }),
  }
}
