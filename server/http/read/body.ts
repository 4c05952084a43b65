/** Reads a request's body: JSON bounded in size, depth and time; an error says which bound was exceeded. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { parseExactly } from '#domain/exact-json.ts'
import type { RequestContext } from '../request-context.ts'
import { Arrival } from './body-deadline.ts'
import type { HeldBytes } from './byte-budget.ts'
import { checkParsed, checkUnparsed } from './json-bounds.ts'

export const MAX_BODY_BYTES = 32 * 1024 * 1024

export interface Body {
  readonly fields: JsonObject
  /** The same with integers beyond 2^53 as they were sent; `fields` itself when there are none. */
  readonly exact?: JsonObject
  /** The JSON text. */
  readonly text?: string
  /** Its size in UTF-8. */
  readonly bytes: number
}

/**
 * A short-lived body: its memory is given back once it is parsed.
 * @throws unsupported_media_type, request_too_large, concurrency_limit_exceeded, gateway_overloaded, invalid_json, invalid_request
 */
export async function readBody(
  context: RequestContext,
  deadlineMs: number,
  mostBytes: number,
): Promise<Required<Body>> {
  try {
    const arrival = expectBody(context, deadlineMs, mostBytes)
    return parseBody(context, arrival, await arrival.text())
  } finally {
    context.held?.release()
  }
}

/**
 * Starts receiving a body, which `context.held` counts; `parseBody` parses its text.
 * @throws unsupported_media_type, request_too_large, concurrency_limit_exceeded, gateway_overloaded
 */
export function expectBody(
  context: RequestContext,
  deadlineMs: number,
  mostBytes = MAX_BODY_BYTES,
): Arrival {
  const { request, held } = context
  checkMediaType(request.headers)
  context.isArriving = true
  const stated = statedBytes(request.headers, mostBytes)
  const arrival = new Arrival(deadlineMs)
  if (stated === null) return arrival.expect(readCounted(request, mostBytes, arrival, held))
  held?.takeBody(stated)
  // The HTTP server enforces the stated Content-Length.
  arrival.bytes = stated
  return arrival.expect(request.text())
}

/** @throws invalid_json, invalid_request */
export function parseBody(context: RequestContext, arrival: Arrival, text: string): Required<Body> {
  arrival.finish()
  context.isArriving = false
  const { bytes } = arrival
  context.held?.arrived(text, bytes)
  return readJson(text, bytes)
}

/** SHA-256 in hexadecimal, computed off the event loop, because a body with images is large. */
export async function digest(text: string): Promise<string> {
  const sha256 = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(sha256), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const JSON_TYPE = 'application/json'
/** As most client libraries spell it. */
const USUAL_TYPE = /^application\/json; ?charset=utf-8$/i
const MAX_TYPE_CHARS = 256
const PARAMETER_NAME = /^[\w-]+$/

/** Whether it is JSON in UTF-8. Parameters are split by hand, because one regular expression for all could backtrack exponentially. */
function isJsonType(type: string): boolean {
  if (USUAL_TYPE.test(type)) return true
  if (type.length > MAX_TYPE_CHARS) return false
  const [name = '', ...parameters] = type.toLowerCase().split(';')
  return name.trimEnd() === JSON_TYPE && parameters.every(isHarmlessParameter)
}

function isHarmlessParameter(parameter: string): boolean {
  const text = parameter.trim()
  const equals = text.indexOf('=')
  if (equals === -1 || !PARAMETER_NAME.test(text.slice(0, equals))) return false
  const value = text.slice(equals + 1)
  return !text.startsWith('charset=') || value === 'utf-8' || value === '"utf-8"'
}

function checkMediaType(headers: Headers): void {
  const type = headers.get('content-type') ?? ''
  if (type !== JSON_TYPE && !isJsonType(type)) {
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

/** `bytes`: the stated size, or the bytes received when reading stopped. */
const tooLarge = (mostBytes: number, bytes: number): GatewayError => {
  const remedy = mostBytes === MAX_BODY_BYTES ? '; send fewer or smaller images' : ''
  return new GatewayError(
    'request_too_large',
    `a request may have at most ${mostBytes} bytes here${remedy}`,
    { metadata: { limit: 'body_bytes', limit_value: mostBytes, used: bytes, resets_at: null } },
  )
}

async function readCounted(
  { body }: Request,
  mostBytes: number,
  counted: { bytes: number },
  held: HeldBytes | null,
): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  // Throwing out of the loop cancels the stream.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    counted.bytes += chunk.byteLength
    if (counted.bytes > mostBytes) throw tooLarge(mostBytes, counted.bytes)
    held?.takeBody(chunk.byteLength)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function readJson(text: string, bytes: number): Required<Body> {
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
  const fields = value as JsonObject
  const exact = checkParsed(value) ? (parseExactly(text, value) as JsonObject) : fields
  return { fields, exact, text, bytes }
}
