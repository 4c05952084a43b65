/** Theirs → ours: why an answer ended. */
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

/** An unknown word is an ordinary end: the answer is there. */
export const fromFinish = (word: string): FinishReason => REASONS[word] ?? 'stop'
