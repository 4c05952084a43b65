/** A `message`: in a stream as it begins, else the whole answer. */
import type { JsonObject } from '#domain/chat.ts'
import type { StreamHead } from '../../surface.ts'
import type { Ending } from './ending.ts'

/** `id` names the generation, for its receipt. */
export const renderMessage = (
  { id, model }: StreamHead,
  content: readonly JsonObject[],
  ending: ReturnType<Ending['render']>,
  usage: JsonObject,
): JsonObject => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content,
  ...ending,
  usage,
})
