/** Receives a request's body: a JSON object bounded in size, time and depth; an error says which bound was exceeded. */

import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { parseExactly } from '#domain/json.ts'
import { cutElements, MAX_DEPTH, type Member } from '#domain/json-text.ts'
import { spelledSize, type TextSize } from '#domain/text-size.ts'
import { within } from '#domain/within.ts'
import type { BodySource } from '#domain/work.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import { clearDeadline, type Deadline, setDeadline } from '#runtime/short-lived.ts'
import type { RequestContext } from '../request-context.ts'
import type { TakenBytes } from './byte-budget.ts'
import { type Outline, outline, tooDeep } from './outline.ts'

export const MAX_BODY_BYTES = 32 * 1024 * 1024
/** Of one that is too large so many are taken and dropped: most clients read no answer before they have sent everything. */
const MAX_DROPPED_BYTES = 2 * MAX_BODY_BYTES
const DROP_PAUSE_MS = 500

/**
 * Receives and parses a body, which `context.taken` counts until its request is answered.
 * @throws unsupported_media_type, request_too_large, concurrency_limit_exceeded, gateway_overloaded, invalid_json, invalid_request
 */
export function readBody(
  context: RequestContext,
  deadlineMs: number,
  mostBytes = MAX_BODY_BYTES,
): Promise<JsonBody> {
  const { request, taken } = context
  checkMediaType(request.headers)
  context.isArriving = true
  refuseTrailers(request.headers)
  const stated = statedBytes(request.headers, mostBytes)
  const arrival = new Arrival(context, deadlineMs)
  if (stated === null || stated > mostBytes) {
    return arrival.expect(readCounted(request, mostBytes, arrival, taken, stated))
  }
  taken?.takeBody(stated)
  // The HTTP server enforces the stated Content-Length.
  return arrival.expect(request.text())
}

/** SHA-256 in hexadecimal, computed off the event loop, because a body with images is large. */
export async function digest(text: string): Promise<string> {
  const sha256 = await crypto.subtle.digest('SHA-256', Buffer.from(text))
  return Buffer.from(sha256).toString('hex')
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

/** The server knows none: it would end the request in the middle of its answer. */
function refuseTrailers(headers: Headers): void {
  if (headers.has('trailer')) {
    throw new GatewayError('invalid_request', 'send the body without trailers')
  }
}

/** Null for a chunked body, which is counted as it comes. @throws request_too_large for one that is not even dropped */
function statedBytes(headers: Headers, mostBytes: number): number | null {
  const stated = headers.get('content-length')
  if (stated === null) return null
  const bytes = Number(stated)
  if (bytes > MAX_DROPPED_BYTES) throw tooLarge(mostBytes, bytes)
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** `bytes`: the stated size, or the bytes received when they were too many. */
const tooLarge = (mostBytes: number, bytes: number): GatewayError => {
  const remedy = mostBytes === MAX_BODY_BYTES ? '; send fewer or smaller images' : ''
  return new GatewayError(
    'request_too_large',
    `a request may have at most ${mostBytes} bytes here${remedy}`,
    { metadata: { limit: 'body_bytes', limit_value: mostBytes, used: bytes, resets_at: null } },
  )
}

const DECODER = new TextDecoder()

async function readCounted(
  { body, signal }: Request,
  mostBytes: number,
  arrival: Arrival,
  taken: TakenBytes | null,
  stated: number | null,
): Promise<string> {
  const pieces: Uint8Array[] = []
  const reader = body?.getReader() ?? null
  arrival.reader = reader
  let bytes = 0
  try {
    for (;;) {
      if (Math.max(bytes, stated ?? 0) > mostBytes) {
        pieces.length = 0
        await drop(reader, bytes)
        throw tooLarge(mostBytes, stated ?? bytes)
      }
      const piece = (await reader?.read())?.value
      if (piece === undefined || arrival.isExpired) break
      bytes += piece.byteLength
      if (bytes > mostBytes) continue
      taken?.takeBody(piece.byteLength)
      pieces.push(piece)
    }
  } catch (thrown) {
    leave(reader)
    throw thrown
  }
  // What follows the last chunk, as trailers do, is refused by the server after the body has ended: before anything is asked for it.
  await nextTurn()
  if (signal.aborted) throw new Error('the server has refused the end of the body')
  return DECODER.decode(Buffer.concat(pieces))
}

/** Takes what comes until it ends, pauses (its client may wait for an answer) or is too much, and drops it. */
async function drop(reader: Reader | null, taken: number): Promise<void> {
  for (let bytes = taken; reader !== null && bytes <= MAX_DROPPED_BYTES; ) {
    const coming = reader.read()
    if (!(await within(coming, DROP_PAUSE_MS))) return
    const piece = (await coming).value
    if (piece === undefined) return
    bytes += piece.byteLength
  }
}

/** What else comes is not read. */
const leave = (reader: Reader | null): void => void reader?.cancel().catch(() => undefined)

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>

/** A body that is being received, until its deadline, and then read. A class, because every request has one. */
export class Arrival implements Deadline {
  place = -1
  /** Whether it is too late: what still comes is not taken. */
  isExpired = false
  /** Of a chunked body. */
  reader: Reader | null = null
  private readonly arriving = Promise.withResolvers<JsonBody>()
  private readonly context: Pick<RequestContext, 'isArriving' | 'taken'>
  private readonly deadlineMs: number
  private readonly dueAtMs: number

  constructor(context: Pick<RequestContext, 'isArriving' | 'taken'>, deadlineMs: number) {
    this.context = context
    this.deadlineMs = deadlineMs
    this.dueAtMs = performance.now() + deadlineMs
  }

  /** What is read of the bytes. @throws what `reading` throws; invalid_json, invalid_request, also when the deadline passes */
  expect(reading: Promise<string>): Promise<JsonBody> {
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
    try {
      const body = new JsonBody(text)
      this.context.taken?.arrived(body.memoryBytes)
      this.arriving.resolve(body)
    } catch (thrown) {
      this.arriving.reject(thrown)
    }
  }

  dueMs(): number {
    return this.dueAtMs
  }

  expire(): void {
    this.isExpired = true
    leave(this.reader)
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

/** Of a shorter one, all is parsed. */
const LONG_BYTES = 2_048
/** The size of what a longer one spells is judged by its beginning. */
const SAMPLE_CHARS = 262_144

/** A JSON object as it was received. A long one is parsed but for its passages (`outline.ts`), until all of it is asked for. */
export class JsonBody implements BodySource {
  /** What was parsed, integers beyond 2^53 rounded as JSON.parse does. */
  readonly fields: JsonObject
  readonly exact: JsonObject
  readonly size: number
  private received: string | null
  private outlined: Outline | null = null
  private isRepeating: boolean | null = null
  private parsed: JsonObject | null = null

  /** @throws invalid_json, invalid_request */
  constructor(text: string) {
    this.received = text
    this.size = Buffer.byteLength(text)
    let parsed = text
    let value: unknown
    try {
      if (this.size >= LONG_BYTES) {
        this.outlined = outline(text)
        parsed = this.outlined.text
      }
      value = JSON.parse(parsed)
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown : notJson()
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new GatewayError('invalid_request', 'the body must be a JSON object')
    }
    this.fields = value as JsonObject
    this.exact = hasLarge(value) ? (parseExactly(parsed, value) as JsonObject) : this.fields
  }

  get text(): string {
    if (this.received === null) throw new TypeError('a body that was let go is asked for')
    return this.received
  }

  get isHeld(): boolean {
    return this.received !== null
  }

  /** The runtime keeps a text that is not ASCII in two bytes for each unit. */
  get memoryBytes(): number {
    return this.isAscii ? this.size : this.text.length * 2
  }

  get members(): readonly Member[] {
    return this.outlineOf().members
  }

  get repeatsNames(): boolean {
    this.isRepeating ??= this.outlineOf().names !== countNames(this.fields)
    return this.isRepeating
  }

  whole(): JsonObject {
    if (this.outlined?.isShorter !== true) return this.exact
    this.parsed ??= parseExactly(this.text) as JsonObject
    return this.parsed
  }

  without(name: string, isCut: (index: number) => boolean): JsonBody {
    return new JsonBody(cutElements(this.text, name, isCut))
  }

  letGo(): void {
    this.received = null
    this.parsed = null
  }

  /** The size of the text that it spells, some of it perhaps in escapes; null where it is as long as it is written. */
  spelledSize(): TextSize | null {
    const { text, size } = this
    if (this.isAscii && (size < LONG_BYTES || !text.includes('\\u'))) return null
    const sample = text.slice(0, SAMPLE_CHARS)
    const spelled = spelledSize(sample, Buffer.byteLength(sample), size)
    return spelled.bytes === size && spelled.dense === 0 ? null : spelled
  }

  private get isAscii(): boolean {
    return this.size === this.text.length
  }

  private outlineOf(): Outline {
    this.outlined ??= outline(this.text)
    return this.outlined
  }
}

const notJson = (): GatewayError => new GatewayError('invalid_json', 'the body is not valid JSON')

/**
 * Checks the depth, and rejects numbers too large for a double. Returns whether a number is beyond 2^53, so that the parser may
 * have rounded it. @throws invalid_request
 */
function hasLarge(value: unknown, depth = 1): boolean {
  if (typeof value === 'number') {
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false
    if (Number.isFinite(value)) return true
    throw new GatewayError('invalid_request', 'a number in the body is too large')
  }
  if (typeof value !== 'object' || value === null) return false
  if (depth > MAX_DEPTH) throw tooDeep()
  let isLarge = false
  if (Array.isArray(value)) {
    for (const item of value) if (hasLarge(item, depth + 1)) isLarge = true
  } else {
    for (const name in value) {
      if (hasLarge((value as Record<string, unknown>)[name], depth + 1)) isLarge = true
    }
  }
  return isLarge
}

/** How many names its objects have kept. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += countNames(item)
  } else {
    for (const name in value) names += 1 + countNames((value as JsonObject)[name])
  }
  return names
}
