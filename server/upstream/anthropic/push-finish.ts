/** Theirs → ours: the finish reason of a message, and the explanation of a refusal. */
import type { ChatEvent } from '#domain/chat.ts'
import { readObject, readText } from '#domain/json.ts'
import { fromFinish } from './from-finish.ts'

/** `native` is `stop_reason`, `details` is `stop_details`. */
export function pushFinish(native: string, details: unknown, into: ChatEvent[]): void {
  const explanation = readText(readObject(details)['explanation'])
  if (native === 'refusal' && explanation !== undefined) {
    into.push({ type: 'refusal-delta', choice: 0, text: explanation })
  }
  into.push({ type: 'finish', choice: 0, reason: fromFinish(native), native })
}
