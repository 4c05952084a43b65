/** Ours → theirs: a body of generateContent, built from known fields only: Gemini refuses unknown ones. */
import type { UpstreamCall } from '#domain/upstream.ts'
import { ownThoughts } from '../own-thoughts.ts'
import { rejected, requireGenerate } from '../rejected.ts'
import { ToolNames } from '../tool-names.ts'
import { toContents } from './to-contents.ts'
import { toGenerationConfig } from './to-generation-config.ts'
import { toTools } from './to-tools.ts'
import type { GenerateContentRequest } from './wire.ts'

/** The body to send. @throws UpstreamFailure `rejected` */
export function toRequest(
  { request, hop, maxOutputTokens }: Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'>,
  names: ToolNames = new ToolNames(),
): GenerateContentRequest {
  const asked = requireGenerate(request)
  const { card } = hop
  const conversation = asked.conversation()
  const { turns, chatOnly, safetySettings } = conversation
  const unsupported = chatOnly.find(({ isEmpty }) => !isEmpty)
  if (unsupported) throw rejected(unsupported.path, 'this provider has nothing like it')
  const generationConfig = toGenerationConfig(asked, conversation, card, maxOutputTokens)
  return {
    ...toContents(ownThoughts(turns, hop), card.upstreamName, names),
    ...toTools(conversation, names),
    ...(safetySettings.length > 0 && { safetySettings }),
    ...(generationConfig && { generationConfig }),
  }
}
