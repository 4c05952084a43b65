/** A tool call in OpenAI's format, in a chunk and in a message. */
import type { JsonObject, ToolCallDelta } from '#domain/chat.ts'

/** A tool call assembled from its deltas. */
export interface ToolCall {
  readonly index: number
  readonly kind: ToolCallDelta['kind']
  id: string | undefined
  name: string | undefined
  arguments: string
  fields: JsonObject
}

/** `type` and the name are sent once, with the first delta of the call. */
export function renderToolCallDelta(delta: ToolCallDelta): JsonObject {
  const opens = delta.id !== undefined || delta.name !== undefined
  const name = delta.name === undefined ? {} : { name: delta.name }
  return {
    ...delta.fields,
    index: delta.index,
    ...(delta.id !== undefined && { id: delta.id }),
    ...(opens && { type: delta.kind }),
    ...(delta.kind === 'function'
      ? { function: { ...name, arguments: delta.arguments } }
      : { custom: { ...name, input: delta.arguments } }),
  }
}

export function renderToolCall({ kind, id, name, arguments: text, fields }: ToolCall): JsonObject {
  return {
    ...fields,
    id,
    type: kind,
    ...(kind === 'function'
      ? { function: { name, arguments: text } }
      : { custom: { name, input: text } }),
  }
}
