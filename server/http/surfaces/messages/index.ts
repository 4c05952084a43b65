/** `POST /v1/messages`: Anthropic's Messages API, with the gateway's own fields (contract §7). */
import type { Surface } from '../surface.ts'
import { readMessagesRequest } from './read-request.ts'
import { startMessagesStream } from './render-stream.ts'
import { MessageFold } from './render-whole.ts'

export const MESSAGES: Surface = {
  readRequest: readMessagesRequest,
  startWhole: (work) => new MessageFold(work),
  startStream: startMessagesStream,
  // Claude Code shows a stall after 20 s, whatever comments came; and a `ping` is what its vendor sends.
  silence: { frame: 'event: ping\ndata: {"type": "ping"}\n\n', afterMs: 10_000 },
}
