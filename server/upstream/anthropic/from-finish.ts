/** Theirs → ours: the finish reason of a message, and the explanation of a refusal. */
import type { ChatEvent, FinishReason } from '#domain/chat.ts'
import { readObject, readText } from '#domain/json.ts'

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
const fromFinish = (word: string): FinishReason => REASONS[word] ?? 'stop'

/** `native` is `stop_reason`, `details` is `stop_details`. */
export function pushFinish(native: string, details: unknown, into: ChatEvent[]): void {
  const explanation = readText(readObject(details)['explanation'])
  if (native === 'refusal' && explanation !== undefined) {
    into.push({ type: 'refusal-delta', choice: 0, text: explanation })
  }
  into.push({ type: 'finish', choice: 0, reason: fromFinish(native), native })
}
