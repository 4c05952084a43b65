/** Ours → theirs: an OpenAI-shaped request as the body of generateContent, built anew: an unknown name is an error there. */
import type { ChatRequest, JsonObject } from '#domain/chat.ts'
import type { ModelCard } from '#domain/model-card.ts'
import { readList } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toContents } from './to-contents.ts'
import { toGenerationConfig } from './to-generation-config.ts'
import { toTools } from './to-tools.ts'
import type { GenerateContentRequest } from './wire.ts'

/** What would change the answer and cannot be said; everything else that is unknown is harmless and left out. */
const SEARCH = 'web_search_options'
const UNSUPPORTED = ['logit_bias', 'audio', 'functions', 'function_call', SEARCH]

/** The body to send. @throws UpstreamFailure `rejected` for what this wire cannot say */
export function toRequest(request: ChatRequest, card: ModelCard): GenerateContentRequest {
  const { body } = request
  const unsupported = UNSUPPORTED.find((name) => isSet(body, name))
  if (unsupported !== undefined) throw rejected(unsupported, 'this provider has nothing like it')
  const safetySettings = readList(body['safety_settings'])
  const generationConfig = toGenerationConfig(request, card)
  return {
    ...toContents(body, card.upstreamName),
    ...toTools(body),
    ...(safetySettings.length > 0 && { safetySettings }),
    ...(generationConfig && { generationConfig }),
  }
}

function isSet(body: JsonObject, name: string): boolean {
  const value = body[name]
  if (value === undefined || value === null) return false
  // An empty object is how a search is asked for; of anything else it says nothing.
  return typeof value !== 'object' || name === SEARCH || Object.keys(value).length > 0
}
