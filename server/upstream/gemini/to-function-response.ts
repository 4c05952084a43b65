/** Ours → theirs: tool results, with the name of the called function. */
import type { JsonObject } from '#domain/chat.ts'
import { parseExactly } from '#domain/exact-json.ts'
import { isObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toParts } from './to-parts.ts'
import type { Part } from './wire.ts'

/** The result, then its other media (a screenshot, say). @throws UpstreamFailure `rejected` */
export function toFunctionResponse(
  message: JsonObject,
  called: ReadonlyMap<string, string>,
  path: string,
): readonly Part[] {
  const id = readText(message['tool_call_id']) ?? ''
  const name = called.get(id) ?? readText(message['name'])
  if (name === undefined) {
    throw rejected(`${path}.tool_call_id`, 'no earlier message calls a tool by this id')
  }
  const parts = toParts(message['content'], `${path}.content`)
  const text = parts.map((part) => part.text ?? '').join('')
  const media = parts.filter((part) => part.text === undefined)
  return [{ functionResponse: { id, name, response: toResponse(text) } }, ...media]
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
