/** `reasoning_details`: how the clients of chat keep what a model signed, in OpenRouter's format. */

/** Its names of whose signature a detail holds: a model refuses those of others. */
export const DETAIL_FORMATS = {
  anthropic: 'anthropic-claude-v1',
  gemini: 'google-gemini-v1',
  openai: 'openai-responses-v1',
} as const
