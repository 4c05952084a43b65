/** Theirs → ours: Gemini's finish reasons as the five of the contract. */
import type { FinishReason } from '#domain/chat.ts'

const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  // The output is unusable: neither text nor a valid tool call.
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MALFORMED_RESPONSE: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  IMAGE_OTHER: 'error',
  OTHER: 'error',
}

/** An unknown reason is `stop`. Gemini ends tool calls with STOP; OpenAI clients expect `tool_calls`. */
export function fromFinish(word: string, called: boolean): FinishReason {
  const reason = Object.hasOwn(REASONS, word) ? (REASONS[word] ?? 'stop') : 'stop'
  return reason === 'stop' && called ? 'tool_calls' : reason
}
