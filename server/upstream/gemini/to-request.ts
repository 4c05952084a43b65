/** Ours → theirs: an OpenAI request as a body of generateContent, built from known fields only: Gemini refuses unknown ones. */
import type { JsonObject } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { readList } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toContents } from './to-contents.ts'
import { toGenerationConfig } from './to-generation-config.ts'
import { toTools } from './to-tools.ts'
import type { GenerateContentRequest } from './wire.ts'

/** Fields that would change the answer and have no equivalent; all other unknown fields are dropped. */
const UNSUPPORTED = ['logit_bias', 'audio', 'functions', 'function_call']

/** The body to send. @throws UpstreamFailure `rejected` */
export function toRequest({
  request,
  hop: { card },
  maxOutputTokens,
}: Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'>): GenerateContentRequest {
  const { body } = request
  const unsupported = UNSUPPORTED.find((name) => isSet(body, name))
  if (unsupported !== undefined) throw rejected(unsupported, 'this provider has nothing like it')
  const safetySettings = readList(body['safety_settings'])
  const generationConfig = toGenerationConfig(request, card, maxOutputTokens)
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
  return typeof value !== 'object' || Object.keys(value).length > 0
}
