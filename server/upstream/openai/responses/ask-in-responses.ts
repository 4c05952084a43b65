/** Asks a provider in the Responses API for a client of another dialect. */
import type { ChatEvents } from '#domain/chat.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import type { Generate } from '#domain/work.ts'
import { performCall, type Wire } from '../../call.ts'
import { requireGenerate } from '../../rejected.ts'
import { ToolNames } from '../../tool-names.ts'
import { toBody } from './to-body.ts'

/** `wire` reads answers for such clients. @throws UpstreamFailure */
export async function askInResponses(
  call: UpstreamCall,
  request: Generate,
  wire: Wire,
): Promise<AsyncIterable<ChatEvents>> {
  const names = new ToolNames()
  return names.restore(await performCall(wire, translate(call, request, names)))
}

function translate(call: UpstreamCall, request: Generate, names: ToolNames): UpstreamCall {
  // The text of the client's own body, and its headers, are of no use to a body that is made anew, and has no bound yet.
  const { source: _source, headers: _headers, ...asked } = request
  const body = toBody(request, call.hop, names)
  return { ...call, request: { ...asked, body, maxOutputTokens: null } }
}

/** The same as a wire for a request of chat that was refused there; its names of tools need no translation. */
export const asRepetition = (wire: Wire): Wire => ({
  ...wire,
  toOutgoing: (call) =>
    wire.toOutgoing(translate(call, requireGenerate(call.request), new ToolNames())),
})

/** "This model is only supported in v1/responses", "… Please use /v1/responses instead": of a model, or of what was asked. */
const ELSEWHERE = /\bv1\/responses\b/i
const ALWAYS_ELSEWHERE = /only (?:supported|available) in/i

/** Whether the request would be taken in the Responses API; and whether that is so of every request of the model. */
export function pointsToResponses({ kind, message }: UpstreamFailure): 'once' | 'always' | null {
  if (kind !== 'rejected' || !ELSEWHERE.test(message)) return null
  return ALWAYS_ELSEWHERE.test(message) ? 'always' : 'once'
}
