/** `POST /v1/responses`: OpenAI's Responses API, which passes as it is where the provider speaks it, and else is translated (contract §7). */
import type { Seals } from '../../seals.ts'
import type { Surface } from '../surface.ts'
import { readResponsesRequest } from './read-request.ts'
import { startResponsesStream } from './render-stream.ts'
import { ResponseFold } from './render-whole.ts'

export const responsesSurface = (seals: Seals): Surface => ({
  readRequest: (body, headers) => readResponsesRequest(body, headers, seals),
  startWhole: (work) => new ResponseFold(work, seals),
  startStream: (head, work) => startResponsesStream(head, work, seals),
})
