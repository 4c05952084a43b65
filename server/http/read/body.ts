/** Reads a request's body: JSON bounded in size, depth, number of values and time; an error says which bound was exceeded. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { parseExactly } from '#domain/exact-json.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '#domain/json-text.ts'
import { clearDeadline, type Deadline, setDeadline } from '#runtime/deadlines.ts'
import type { RequestContext } from '../request-context.ts'
import type { TakenBytes } from './byte-budget.ts'

export const MAX_BODY_BYTES = 32 * 1024 * 1024

export interface Body {
  readonly fields: JsonObject
  /** The same with integers beyond 2^53 as they were sent; `fields` itself when there are none. */
  readonly exact?: JsonObject
  /** The JSON text. */
  readonly text?: string
  /** Its size in UTF-8. */
  readonly bytes: number
  /** How many names its objects have, each time that one is written; null where nobody has counted yet. */
  readonly names?: number | null
}

/**
 * Receives and parses a body, which `context.taken` counts until its request is answered.
 * @throws unsupported_media_type, request_too_large, concurrency_limit_exceeded, gateway_overloaded, invalid_json, invalid_request
 */
export function readBody(
  context: RequestContext,
  deadlineMs: number,
  mostBytes = MAX_BODY_BYTES,
): Promise<Required<Body>> {
  const { request, taken } = context
  checkMediaType(request.headers)
  context.isArriving = true
  const stated = statedBytes(request.headers, mostBytes)
  const arrival = new Arrival(context, deadlineMs)
  if (stated === null) return arrival.expect(readCounted(request, mostBytes, arrival, taken))
  taken?.takeBody(stated)
  // The HTTP server enforces the stated Content-Length.
  arrival.bytes = stated
  return arrival.expect(request.text())
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
  taken: TakenBytes | null,
): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  // Throwing out of the loop cancels the stream.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    counted.bytes += chunk.byteLength
    if (counted.bytes > mostBytes) throw tooLarge(mostBytes, counted.bytes)
    taken?.takeBody(chunk.byteLength)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function readJson(text: string, bytes: number): Required<Body> {
  const names = checkUnparsed(text, bytes)
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
  return { fields, exact, text, bytes, names }
}

/** A body that is being received, until its deadline, and then read. A class, because every request has one. */
export class Arrival implements Deadline {
  place = -1
  /** The Content-Length; for a chunked body, the bytes received so far. */
  bytes = 0
  private readonly arriving = Promise.withResolvers<Required<Body>>()
  private readonly context: Pick<RequestContext, 'isArriving' | 'taken'>
  private readonly deadlineMs: number
  private readonly dueAtMs: number

  constructor(context: Pick<RequestContext, 'isArriving' | 'taken'>, deadlineMs: number) {
    this.context = context
    this.deadlineMs = deadlineMs
    this.dueAtMs = performance.now() + deadlineMs
  }

  /** What is read of the text. @throws what `reading` throws; invalid_json, invalid_request, also when the deadline passes */
  expect(reading: Promise<string>): Promise<Required<Body>> {
    reading.then(
      (text) => this.arrive(text),
      (thrown) => this.breakOff(thrown),
    )
    setDeadline(this)
    return this.arriving.promise
  }

  private arrive(text: string): void {
    // Too late: nobody waits for it.
    if (this.place < 0) return
    clearDeadline(this)
    this.context.isArriving = false
    this.context.taken?.arrived(text, this.bytes)
    try {
      this.arriving.resolve(readJson(text, this.bytes))
    } catch (thrown) {
      this.arriving.reject(thrown)
    }
  }

  dueMs(): number {
    return this.dueAtMs
  }

  expire(): void {
    const seconds = Math.round(this.deadlineMs / 1000)
    this.arriving.reject(
      new GatewayError('invalid_request', `the body did not arrive within ${seconds} s`),
    )
  }

  private breakOff(thrown: unknown): void {
    clearDeadline(this)
    this.arriving.reject(
      thrown instanceof GatewayError
        ? thrown
        : new GatewayError('invalid_request', 'the body broke off before its end', {
            cause: thrown,
          }),
    )
  }
}

const MAX_DEPTH = 64
/** A smaller body cannot hold enough brackets to slow the parser down. */
const HARMLESS_BYTES = 64 * 1024
/**
 * Object members and array elements in one body, nested ones included: far above any conversation, far below what exhausts
 * memory. A property name that no other object has costs the parser up to a microsecond.
 */
const MAX_VALUES = 250_000

const tooDeep = (): GatewayError =>
  new GatewayError('invalid_request', `JSON may be nested ${MAX_DEPTH} levels deep at most`)

const tooWide = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    `a body may hold at most ${MAX_VALUES} members of objects and elements of arrays`,
  )

/**
 * Counts brackets and commas before parsing, because thirty million brackets cost the parser two seconds and two gigabytes, and
 * two million members two seconds. An object or array has one value more than commas, so an opening bracket counts like a
 * comma. Strings are skipped with a native search, so that an image costs almost nothing. Names are counted on the way; null for
 * a body that is not looked through. @throws invalid_request
 */
function checkUnparsed(text: string, bytes: number): number | null {
  if (bytes <= HARMLESS_BYTES) return null
  let depth = 0
  let values = 0
  let names = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) {
      i = endOfString(text, i)
    } else if (unit === COMMA || unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      if (unit !== COMMA && ++depth > MAX_DEPTH) throw tooDeep()
      if (++values > MAX_VALUES) throw tooWide()
    } else if (unit === COLON) names++
    else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--
  }
  return names
}

/**
 * Checks the depth, and rejects numbers too large for a double. Returns whether a number is beyond 2^53, so that the parser may
 * have rounded it. @throws invalid_request
 */
function checkParsed(value: unknown, depth = 1): boolean {
  if (typeof value === 'number') {
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false
    if (Number.isFinite(value)) return true
    throw new GatewayError('invalid_request', 'a number in the body is too large')
  }
  if (typeof value !== 'object' || value === null) return false
  if (depth > MAX_DEPTH) throw tooDeep()
  let isLarge = false
  if (Array.isArray(value)) {
    for (const item of value) if (checkParsed(item, depth + 1)) isLarge = true
  } else {
    for (const name in value) {
      if (checkParsed((value as Record<string, unknown>)[name], depth + 1)) isLarge = true
    }
  }
  return isLarge
}
