/** `POST /v1/chat/completions`: OpenAI's chat, with the gateway's own fields (contract §7). */
import type { Surface } from '../surface.ts'
import { readChatRequest } from './read-request.ts'
import { startChunks } from './render-stream.ts'
import { startFold } from './render-whole.ts'

export const CHAT: Surface = {
  readRequest: readChatRequest,
  startWhole: startFold,
  startStream: (head, { includeUsage }) => startChunks(head, includeUsage),
}
