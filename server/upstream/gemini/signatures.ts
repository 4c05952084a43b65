/**
 * Thought signatures on their way to a client and back. They travel twice, because clients keep different fields: in the
 * tool call as Google's own OpenAI surface sends them, and in the message's `reasoning_details` as OpenRouter does.
 */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'

const FORMAT = 'google-gemini-v1'

/** Which part of a turn a signature belongs to: a call by its id, the text, the n-th picture, or an empty part at the end. */
export type SignedPart = `call:${string}` | 'text' | `image:${number}` | 'end'

/** Google's documented stand-in for a signature that was lost or never was; without one, Gemini 3 refuses a call. */
export const UNSIGNED = 'skip_thought_signature_validator'

/** Older models neither give nor ask for the signature of a call. */
export const demandsSignatures = (model: string): boolean =>
  !/(?:^|\/)(?:gemini-[12]\b|gemma|learnlm)/.test(model)

/** The field of a tool call that carries its signature. */
export const toCallFields = (signature: string): JsonObject => ({
  extra_content: { google: { thought_signature: signature } },
})

/** An entry of `reasoning_details`; its `id` is the tool call's, as OpenRouter has it. */
export const toDetail = (part: SignedPart, signature: string, index: number): JsonObject => ({
  type: 'reasoning.encrypted',
  data: signature,
  id: part.startsWith('call:') ? part.slice('call:'.length) : part,
  format: FORMAT,
  index,
})

/** What a client brought back with one assistant message. */
export interface Signatures {
  of(part: SignedPart): string | undefined
}

/** Details of another vendor's format are none of ours. A signature in the tool call itself wins. */
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
