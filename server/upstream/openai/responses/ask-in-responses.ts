/** Asks a provider in the Responses API for a client of another dialect. */
import type { ChatEvents } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Generate } from '#domain/work.ts'
import { performCall, type Wire } from '../../call.ts'
import { ToolNames } from '../../tool-names.ts'
import { toBody } from './to-body.ts'

/** `wire` reads answers for such clients. @throws UpstreamFailure */
export async function askInResponses(
  call: UpstreamCall,
  request: Generate,
  wire: Wire,
): Promise<AsyncIterable<ChatEvents>> {
  const names = new ToolNames()
  // The text of the client's own body, and its headers, are of no use to a body that is made anew, and has no bound yet.
  const { source: _source, headers: _headers, ...asked } = request
  const body = toBody(request, call.hop, names)
  const translated = { ...asked, body, maxOutputTokens: null }
  return names.restore(await performCall(wire, { ...call, request: translated }))
}
