/** Ours → theirs: messages as turns: a separate system instruction, and consecutive messages of one role merged. */
import type { JsonObject } from '#domain/chat.ts'
import { readList, readObject } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toFunctionResponse } from './to-function-response.ts'
import { toModelParts } from './to-model-parts.ts'
import { toParts } from './to-parts.ts'
import type { Content, GenerateContentRequest, Part } from './wire.ts'

/** `model` is the provider's name for it. @throws UpstreamFailure `rejected` */
export function toContents(
  body: JsonObject,
  model: string,
): Pick<GenerateContentRequest, 'contents' | 'systemInstruction'> {
  const system: Part[] = []
  const turns: { readonly role: string; readonly parts: Part[] }[] = []
  /** The function name of each call id: Gemini's results need the name, OpenAI's have only the id. */
  const called = new Map<string, string>()

  const say = (role: string, parts: readonly Part[]): void => {
    if (parts.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }

  for (const [index, value] of readList(body['messages']).entries()) {
    const message = readObject(value)
    const path = `messages[${index}]`
    const content = (): readonly Part[] => toParts(message['content'], `${path}.content`)
    switch (message['role']) {
      case 'system':
      case 'developer':
        system.push(...content())
        break
      case 'assistant':
        say('model', toModelParts(message, model, called, path))
        break
      case 'tool':
        say('user', toFunctionResponse(message, called, path))
        break
      default:
        say('user', content())
    }
  }
  return arrange(system, turns)
}

/** Without other messages the system instructions are sent as the user's. */
function arrange(
  system: readonly Part[],
  turns: readonly Content[],
): Pick<GenerateContentRequest, 'contents' | 'systemInstruction'> {
  if (turns.length === 0) {
    if (system.length === 0) throw rejected('messages', 'none of them says anything')
    return { contents: [{ role: 'user', parts: system }] }
  }
  return { contents: turns, ...(system.length > 0 && { systemInstruction: { parts: system } }) }
}
