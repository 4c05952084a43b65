/** Theirs → ours: finish reasons. */
import type { FinishReason } from '#domain/chat.ts'

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** An unknown reason is `stop`: the answer is complete. */
export const fromFinish = (word: string): FinishReason => REASONS[word] ?? 'stop'
