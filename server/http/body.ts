/** The body of a request: JSON of bounded size, depth and time, or a refusal that says which bound was broken. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { arrived, awaitBody } from './body-deadline.ts'
import { checkParsed, checkUnparsed } from './json-bounds.ts'

export const MOST_BODY_BYTES = 32 * 1024 * 1024

export interface Body {
  readonly fields: JsonObject
  /** What they were parsed of. */
  readonly text?: string
  /** Its size as it came, in UTF-8. */
  readonly bytes: number
}

export interface DigestedBody extends Body {
  /** SHA-256 in hexadecimal; empty unless it was asked for. */
  readonly sha256: string
}

/** @throws unsupported_media_type, request_too_large, invalid_json, invalid_request */
export async function readBody(
  request: Request,
  deadlineMs: number,
  isDigested: boolean,
  mostBytes = MOST_BODY_BYTES,
): Promise<DigestedBody> {
  checkMediaType(request.headers)
  const stated = statedBytes(request.headers, mostBytes)
  const counted = { bytes: 0 }
  const arrival = awaitBody(
    // The listener holds a client to the length it stated.
    stated === null ? readCounted(request, mostBytes, counted) : request.text(),
    deadlineMs,
  )
  let text: string
  try {
    text = await arrival.read
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : brokenOff(thrown)
  } finally {
    arrived(arrival)
  }
  const bytes = stated ?? counted.bytes
  const sha256 = isDigested ? await digest(text) : ''
  return { fields: readJson(text, bytes), text, bytes, sha256 }
}

/** Off the event loop, because a body may hold pictures. */
async function digest(text: string): Promise<string> {
  const sha256 = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(sha256), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const JSON_TYPE = /^application\/json *(?:; *(?:charset="?utf-8"?|(?!charset)[\w-]+=[^;]*) *)*$/i

function checkMediaType(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (type !== 'application/json' && !JSON_TYPE.test(type)) {
    throw new GatewayError(
      'unsupported_media_type',
      'send JSON, as "Content-Type: application/json"',
    )
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      'send the body as it is, without a Content-Encoding',
    )
  }
}

/** Null for a chunked body, which is counted as it comes. */
function statedBytes(headers: Headers, mostBytes: number): number | null {
  const stated = headers.get('content-length')
  if (stated === null) return null
  const bytes = Number(stated)
  if (bytes > mostBytes) throw tooLarge(mostBytes, bytes)
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** `bytes`: how many there are, or how many had come when it was given up. */
const tooLarge = (mostBytes: number, bytes: number): GatewayError => {
  const remedy = mostBytes === MOST_BODY_BYTES ? '; send fewer or smaller images' : ''
  return new GatewayError(
    'request_too_large',
    `a request may have at most ${mostBytes} bytes here${remedy}`,
    { metadata: { limit: 'body_bytes', limit_value: mostBytes, used: bytes, resets_at: null } },
  )
}

const brokenOff = (cause: unknown): GatewayError =>
  new GatewayError('invalid_request', 'the body broke off before its end', { cause })

async function readCounted(
  { body }: Request,
  mostBytes: number,
  counted: { bytes: number },
): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    counted.bytes += chunk.byteLength
    if (counted.bytes > mostBytes) throw tooLarge(mostBytes, counted.bytes)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function readJson(text: string, bytes: number): JsonObject {
  checkUnparsed(text, bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new GatewayError('invalid_json', 'the body is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new GatewayError('invalid_request', 'the body must be a JSON object')
  }
  checkParsed(value)
  return value as JsonObject
}
