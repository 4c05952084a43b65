/**
 * Theirs → ours: thought signatures. They are sent twice, because clients keep different fields: in the tool call, as Google's
 * OpenAI-compatible API does, and in the message's `reasoning_details`, as OpenRouter does.
 */
import type { JsonObject } from '#domain/chat.ts'
import { DETAIL_FORMATS } from '#domain/reasoning-details.ts'

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
  format: DETAIL_FORMATS.gemini,
  index,
})
