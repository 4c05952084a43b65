/** Ours → theirs: turns: a separate system instruction of those at the start, and consecutive turns of one role merged. */
import type { Turn } from '#domain/conversation.ts'
import { inOrder } from '../in-order.ts'
import { rejected } from '../rejected.ts'
import { toReminder } from '../system-reminder.ts'
import type { ToolNames } from '../tool-names.ts'
import { toFunctionResponse } from './to-function-response.ts'
import { toModelParts } from './to-model-parts.ts'
import { toPart } from './to-parts.ts'
import type { Content, GenerateContentRequest, Part as WirePart } from './wire.ts'

/** `model` is the provider's name for it. @throws UpstreamFailure `rejected` */
export function toContents(
  turns: readonly Turn[],
  model: string,
  names: ToolNames,
): Pick<GenerateContentRequest, 'contents' | 'systemInstruction'> {
  const system: WirePart[] = []
  const contents: { readonly role: string; readonly parts: WirePart[] }[] = []
  /** The function name of each call id: Gemini's results need the name, others' have only the id. */
  const called = new Map<string, string>()

  const say = (role: string, parts: readonly WirePart[]): void => {
    if (parts.length === 0) return
    const last = contents.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else contents.push({ role, parts: [...parts] })
  }
  for (const one of inOrder(turns)) {
    switch (one.role) {
      case 'system':
        if (contents.length === 0) system.push(...one.parts.flatMap(toPart))
        else say('user', toReminder(one.parts).flatMap(toPart))
        break
      case 'assistant':
        say('model', toModelParts(one.parts, model, called, names))
        break
      case 'user': {
        const results = one.results.map(({ result }) => toFunctionResponse(result, called, names))
        // All results come before what else came with them.
        say('user', [
          ...results.map(([response]) => response),
          ...results.flatMap(([, ...media]) => media),
        ])
        say('user', one.parts.flatMap(toPart))
      }
    }
  }
  return arrange(system, contents)
}

/** Without other messages the system instructions are sent as the user's. */
function arrange(
  system: readonly WirePart[],
  contents: readonly Content[],
): Pick<GenerateContentRequest, 'contents' | 'systemInstruction'> {
  if (contents.length === 0) {
    if (system.length === 0) throw rejected('messages', 'none of them says anything')
    return { contents: [{ role: 'user', parts: system }] }
  }
  return { contents, ...(system.length > 0 && { systemInstruction: { parts: system } }) }
}
