/**
 * Thought signatures, sent to the client and read back. They are sent twice, because clients keep different fields: in the
 * tool call, as Google's OpenAI-compatible API does, and in the message's `reasoning_details`, as OpenRouter does.
 */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'

const FORMAT = 'google-gemini-v1'

/** Which part of a turn a signature belongs to: a call by its id, the text, the n-th image, or an empty part at the end. */
export type SignedPart = `call:${string}` | 'text' | `image:${number}` | 'end'

/** Google's documented placeholder for a missing signature; Gemini 3 refuses a tool call without one. */
export const UNSIGNED = 'skip_thought_signature_validator'

/** Older models neither send nor require signatures of tool calls. */
export const demandsSignatures = (model: string): boolean =>
  !/(?:^|\/)(?:gemini-[12]\b|gemma|learnlm)/.test(model)

/** The field of a tool call that carries its signature. */
export const toCallFields = (signature: string): JsonObject => ({
  extra_content: { google: { thought_signature: signature } },
})

/** An entry of `reasoning_details`; its `id` is the tool call's, as in OpenRouter's format. */
export const toDetail = (part: SignedPart, signature: string, index: number): JsonObject => ({
  type: 'reasoning.encrypted',
  data: signature,
  id: part.startsWith('call:') ? part.slice('call:'.length) : part,
  format: FORMAT,
  index,
})

/** The signatures that a client sent back with one assistant message. */
export interface Signatures {
  of(part: SignedPart): string | undefined
}

/** Details in another vendor's format are ignored. A signature in the tool call takes precedence. */
export function readSignatures(message: JsonObject): Signatures {
  const known = new Map<string, string>()
  for (const detail of readList(message['reasoning_details'])) {
    if (!isObject(detail) || detail['format'] !== FORMAT) continue
    const data = readText(detail['data'])
    if (data !== undefined) known.set(readText(detail['id']) ?? 'text', data)
  }
  for (const call of readList(message['tool_calls'])) {
    const { id, extra_content: extra } = readObject(call)
    const data = readText(readObject(readObject(extra)['google'])['thought_signature'])
    if (data !== undefined) known.set(readText(id) ?? '', data)
  }
  return {
    of: (part) => known.get(part.startsWith('call:') ? part.slice('call:'.length) : part),
  }
}
