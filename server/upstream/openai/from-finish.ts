/** Theirs → ours: providers' finish reasons as the five of the contract. */
import type { FinishReason } from '#domain/chat.ts'

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  max_completion_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  safety: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  spii: 'content_filter',
  image_safety: 'content_filter',
  sensitive: 'content_filter',
  error: 'error',
}

/** An unknown reason is `stop`: the answer is complete. */
export const fromFinish = (word: string): FinishReason => REASONS[word.toLowerCase()] ?? 'stop'
