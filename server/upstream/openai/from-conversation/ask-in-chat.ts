/** Asks a provider in chat for a client of another dialect. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import type { Generate } from '#domain/work.ts'
import { ToolNames } from '../../tool-names.ts'
import { toChat } from './to-chat.ts'

/** `ask` is what asks for clients of chat. @throws UpstreamFailure */
export async function askInChat(
  call: UpstreamCall,
  request: Generate,
  ask: Upstream['ask'],
): Promise<AsyncIterable<ChatEvents>> {
  const names = new ToolNames()
  // The text of the client's own body is of no use to a body that is made anew.
  const { source: _, ...asked } = request
  const body = toChat(request, call.hop, names)
  const { reasoning_effort: effort } = body
  const ofChat: Generate = {
    ...asked,
    dialect: 'chat',
    body,
    reasoning: typeof effort === 'string' ? { effort } : null,
    conversation: () => request.conversation(),
  }
  return names.restore(await ask({ ...call, request: ofChat }))
}
