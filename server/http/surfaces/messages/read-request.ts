/** Reads a Messages request: what money, limits and routing need, and what must not be passed on; the rest is the provider's to judge. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import type { Extra } from '#domain/extras.ts'
import { ANY_IMAGE } from '#domain/model-card.ts'
import type { Generate } from '#domain/work.ts'
import { rejectWholeKey } from '../../bearer.ts'
import type { JsonBody } from '../../read/body.ts'
import { rejectRepeatedNames } from '../../read/repeated-names.ts'
import { setExtras } from '../billed-extras.ts'
import {
  checkModels,
  commonFields,
  type Draft,
  MAX_USER_CHARS,
  noteSizes,
  readFallbacks,
  readRouting,
  toInvalidRequest,
  tokensField,
  toPlainName,
} from '../read-common.ts'
import { readBlocks } from './read-blocks.ts'
import { readExtras } from './read-extras.ts'
import { readReasoning } from './read-reasoning.ts'
import { readClientHeaders } from './request-headers.ts'
import { toConversation } from './to-conversation.ts'

/** Null means absent. */
export const messagesForm = z.object({
  ...commonFields,
  max_tokens: tokensField,
  messages: z.array(z.unknown()).min(1),
  metadata: z.object({ user_id: z.string().nullish() }).nullish(),
})

/** @throws invalid_request, unsupported_parameter, invalid_image, too_many_images */
export function readMessagesRequest(body: JsonBody, headers: Headers): Generate {
  const { fields, exact, size } = body
  const parsed = messagesForm.safeParse(fields)
  if (!parsed.success) throw toInvalidRequest(fields, parsed.error.issues)
  rejectRepeatedNames(body)
  const client = readClientHeaders(headers)
  const read = { ...client.routing, ...withoutNulls(parsed.data) }
  checkModels(read)
  const extras: Extra[] = []
  readExtras(fields, extras)
  const attachments = readBlocks(fields, extras)
  const request: Draft = {
    kind: 'generate',
    dialect: 'messages',
    model: read.model,
    body: exact,
    source: body,
    headers: client.passed,
    reasoning: readReasoning(fields),
    conversation: toConversation,
    stream: read.stream ?? false,
    includeUsage: client.wantsCost,
    wantsImages: false,
    image: ANY_IMAGE,
    endUser: toEndUser(read.metadata?.user_id),
    choices: 1,
    maxOutputTokens: read.max_tokens ?? null,
    textBytes: size - attachments.bytes,
    inputImages: attachments.count,
    allowFallbacks: readFallbacks(read),
  }
  noteSizes(request, body, attachments)
  const routing = readRouting(read)
  if (routing !== undefined) request.routing = routing
  if (extras.length > 0) setExtras(request, extras)
  return request
}

/** A null in the body takes nothing from a header. */
const withoutNulls = <Fields extends JsonObject>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Fields

/** Claude Code sends a JSON text of device, account and session, of which the session changes. */
function toEndUser(id: string | null | undefined): string | null {
  if (!id) return null
  rejectWholeKey(id, 'metadata.user_id')
  const { account_uuid: account, device_id: device } = id.startsWith('{') ? parseIds(id) : NO_IDS
  const known = [account, device, id].find((one) => typeof one === 'string' && one !== '') as string
  return known.length <= MAX_USER_CHARS && !known.startsWith('{')
    ? toPlainName(known)
    : createHash('sha256').update(id).digest('hex')
}

const NO_IDS: JsonObject = {}

function parseIds(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    return NO_IDS
  }
}
