/** Reads a Responses request: what money and limits need of it. All else is the provider's to judge, and passes as it came. */
import { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { ANY_IMAGE } from '#domain/model-card.ts'
import type { Generate } from '#domain/work.ts'
import type { JsonBody } from '../../read/body.ts'
import { rejectRepeatedNames } from '../../read/repeated-names.ts'
import type { Seals } from '../../seals.ts'
import { noteExtras, setExtras } from '../billed-extras.ts'
import { readReasoning } from '../chat/read-request.ts'
import {
  Attachments,
  checkModels,
  commonFields,
  type Draft,
  noteSizes,
  readEndUser,
  readFallbacks,
  readRouting,
  toInvalidRequest,
  tokensField,
  userField,
} from '../read-common.ts'
import { noteCacheMarks } from './cache-marks.ts'
import { readInput } from './read-input.ts'
import { toConversation } from './to-conversation.ts'
import { noteAddedTools, readTools } from './tools.ts'

/** Null means absent: client libraries send it for options that are not set. */
export const responsesForm = z.object({
  ...commonFields,
  input: z.unknown(),
  max_output_tokens: tokensField,
  user: userField,
  safety_identifier: userField,
})

/** @throws invalid_request, unsupported_parameter, invalid_image, too_many_images */
export function readResponsesRequest(body: JsonBody, headers: Headers, seals: Seals): Generate {
  const { fields, exact, size } = body
  const parsed = responsesForm.safeParse(fields)
  if (!parsed.success) throw toInvalidRequest(fields, parsed.error.issues)
  rejectRepeatedNames(body)
  const read = parsed.data
  checkModels(read)
  const endUser = readEndUser(read)
  const { tools: _tools, ...others } = fields
  const extras: Extra[] = []
  noteExtras(others, extras)
  noteCacheMarks(fields, extras)
  const cutTools = readTools(fields, extras)
  noteAddedTools(fields, extras)
  const attachments = new Attachments()
  const cutItems = readInput(read.input, attachments)
  const request: Draft = {
    kind: 'generate',
    dialect: 'responses',
    model: read.model,
    body: withoutElements(exact, cutTools, cutItems),
    reasoning: readReasoning(exact),
    conversation: () => toConversation(withoutElements(body.whole(), cutTools, cutItems), seals),
    // Its tools are cut when it is sent: that depends on the model.
    source: cutItems.size === 0 ? body : body.without('input', (index) => cutItems.has(index)),
    stream: read.stream ?? false,
    includeUsage: headers.get('x-gateway-usage')?.trim() === '1',
    wantsImages: false,
    image: ANY_IMAGE,
    endUser,
    choices: 1,
    maxOutputTokens: read.max_output_tokens ?? null,
    textBytes: size - attachments.bytes,
    inputImages: attachments.count,
    allowFallbacks: readFallbacks(read),
  }
  noteSizes(request, body, attachments)
  if (cutTools.size > 0) request.cutTools = cutTools
  if (extras.length > 0) setExtras(request, extras)
  const beta = headers.get('openai-beta')
  if (beta !== null) request.headers = { 'openai-beta': beta }
  if (fields['truncation'] === 'auto') request.onlyNative = TRUNCATION
  const routing = readRouting(read)
  if (routing !== undefined) request.routing = routing
  return request
}

/** What is left out of the input, only OpenAI decides. */
const TRUNCATION = {
  param: 'truncation',
  why: 'others refuse a prompt that is too long rather than cut it',
}

type Cut = Pick<ReadonlySet<number>, 'has' | 'size'>

function withoutElements(fields: JsonObject, tools: Cut, items: Cut): JsonObject {
  if (tools.size + items.size === 0) return fields
  const kept = (list: unknown, cut: Cut): unknown =>
    Array.isArray(list) ? list.filter((_, index) => !cut.has(index)) : list
  return { ...fields, tools: kept(fields['tools'], tools), input: kept(fields['input'], items) }
}
