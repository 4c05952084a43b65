/** A `message`: in a stream as it begins, else the whole answer. */
import type { JsonObject } from '#domain/chat.ts'
import type { StreamHead } from '../../surface.ts'

/** `id` names the generation, for its receipt. */
export const renderMessage = (
  { id, model }: StreamHead,
  content: readonly JsonObject[],
  stopReason: string | null,
  usage: JsonObject,
): JsonObject => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason: stopReason,
  stop_sequence: null,
  usage,
})
