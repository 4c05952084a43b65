/** A tool call on OpenAI's wire, in a chunk and in a whole message alike. */
import type { JsonObject, ToolCallDelta } from '#domain/chat.ts'

/** A tool call put together from its deltas. */
export interface ToolCall {
  readonly index: number
  readonly kind: ToolCallDelta['kind']
  id: string | undefined
  name: string | undefined
  arguments: string
  fields: JsonObject
}

/** `type` and the name come once, with the delta that opens the call. */
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
