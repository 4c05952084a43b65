/** Ours → theirs: tool results, with the name of the called function. */
import type { ResultPart } from '#domain/conversation.ts'
import { isObject, parseExactly } from '#domain/json.ts'
import { rejected } from '../rejected.ts'
import type { ToolNames } from '../tool-names.ts'
import { toPart } from './to-parts.ts'
import type { Part } from './wire.ts'

/** The result, then its other media (a screenshot, say). @throws UpstreamFailure `rejected` */
export function toFunctionResponse(
  { callId: id = '', callIdPath, isError, ...result }: ResultPart,
  called: ReadonlyMap<string, string>,
  names: ToolNames,
): readonly [Part, ...Part[]] {
  const name = called.get(id) ?? (result.name && names.toWire(result.name))
  if (name === undefined) {
    throw rejected(callIdPath, 'no earlier message calls a tool by this id')
  }
  const parts = result.parts.flatMap(toPart)
  const text = parts.map((part) => part.text ?? '').join('')
  const media = parts.filter((part) => part.text === undefined)
  const response = isError ? { error: text } : toResponse(text)
  return [{ functionResponse: { id, name, response } }, ...media]
}

/** Gemini requires an object: a JSON object stays as it is, anything else becomes its `result`. */
function toResponse(text: string): Record<string, unknown> {
  try {
    const value: unknown = parseExactly(text)
    if (isObject(value)) return value
  } catch {
    // Plain text.
  }
  return { result: text }
}
