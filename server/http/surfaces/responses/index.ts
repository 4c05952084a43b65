/** `POST /v1/responses`: OpenAI's Responses API, whose requests and answers pass as they are (contract §7). */
import type { Surface } from '../surface.ts'
import { readResponsesRequest } from './read-request.ts'
import { ResponsesStream } from './render-stream.ts'
import { ResponseFold } from './render-whole.ts'

export const RESPONSES: Surface = {
  readRequest: readResponsesRequest,
  startWhole: (work) => new ResponseFold(work),
  startStream: (head, work) => new ResponsesStream(head, work),
}
