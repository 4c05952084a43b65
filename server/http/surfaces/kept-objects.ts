/**
 * What names an object that a provider keeps: it is in the operator's account there, which serves many keys, so that any client
 * could name what another has left. Refused on every surface; fields of a body that do so are among the `EXTRAS`.
 */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { isObject } from '#domain/json.ts'

export const namesKept = (param: string, instead = 'send the content itself'): GatewayError =>
  new GatewayError(
    'unsupported_parameter',
    `${param}: what is kept at the provider belongs to the operator's account there; ${instead}`,
    { param },
  )

/** In parts, and in tools that the vendor runs: of OpenAI, Anthropic, Mistral; of OpenAI, xAI, Zhipu. */
const IDS: ReadonlySet<string> = new Set([
  'file_id',
  'file_ids',
  'container_id',
  'vector_store_ids',
  'collection_ids',
  'knowledge_id',
])

const ADDRESSES: ReadonlySet<string> = new Set([
  'url',
  'file_data',
  'file_url',
  'image_url',
  'video_url',
  'audio_url',
  'document_url',
])

/** A part of a message; what it holds is in a member of its type's name, or in `source`. @throws unsupported_parameter */
export function refuseKeptPart(part: JsonObject, path: string): void {
  const { type } = part
  refuseKept(part, path)
  for (const name of [String(type), 'source']) {
    const held = part[name]
    if (isObject(held)) refuseKept(held, `${path}.${name}`)
  }
}

function refuseKept(holder: JsonObject, path: string): void {
  for (const name in holder) {
    const value = holder[name]
    const isKept = IDS.has(name) ? isSet(value) : ADDRESSES.has(name) && isKeptAddress(value)
    if (isKept) throw namesKept(`${path}.${name}`)
  }
}

/** No tool is deeper. */
const MAX_DEPTH = 4

/** A tool that the vendor runs, which may search what is kept, or run where it is. @throws unsupported_parameter */
export function refuseKeptTool(tool: JsonObject, path: string, depth = 0): void {
  refuseKept(tool, path)
  for (const name in tool) {
    const value = tool[name]
    if (name === 'container' && typeof value === 'string') throw namesKept(`${path}.${name}`)
    if (isObject(value) && depth < MAX_DEPTH) refuseKeptTool(value, `${path}.${name}`, depth + 1)
  }
}

/** Other than the web: a bucket or a disk that only the provider reaches (`gs:`, `s3:`, `file:`), or an upload (`ms:`). */
const NOT_PUBLIC = /^(?!https?:)[a-z][a-z\d+.-]*:\/\//i
/** Google's uploads have addresses of its API. */
const GOOGLE = 'generativelanguage.googleapis.com'

function isKeptAddress(value: unknown): boolean {
  if (typeof value !== 'string') return false
  if (NOT_PUBLIC.test(value)) return true
  return /^https?:/i.test(value) && URL.parse(value)?.hostname.replace(/\.$/, '') === GOOGLE
}

const isSet = (value: unknown): boolean => value !== null && value !== undefined
