/** Ours → theirs: what a tool answered, under the name of the function that was called. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toParts } from './to-parts.ts'
import type { Part } from './wire.ts'

/** The result, then whatever of it is no text (a screenshot, say). @throws UpstreamFailure `rejected` */
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

/** A response is an object here: JSON that is one stays itself, anything else becomes its `result`. */
function toResponse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Ordinary words.
  }
  return { result: text }
}
