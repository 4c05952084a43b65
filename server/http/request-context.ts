/** The context of one HTTP request: what is known about it so far, and its answer: the headers, and the body in as few writes as possible. */
import type { Admissions } from '#domain/admission.ts'
import type { AnswerHead } from '#domain/chat.ts'
import type { Arrival, Clock, Instant } from '#domain/clock.ts'
import { type GenerationId, newRequestId } from '#domain/id.ts'
import type { ApiKey, Caller } from '#domain/key.ts'
import { holdsSecret } from '#domain/secret.ts'
import type { Walk } from '#domain/walk/walk.ts'
import { NO_QUOTA, type QuotaReading } from '#domain/window.ts'
import type { TakenBytes } from './read/byte-budget.ts'
import { IDLE_SECONDS } from './timings.ts'

export const ACCEPTED_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Not unique: two requests may have the same id. */
function readRequestId(request: Request, at: Instant): string {
  const named = request.headers.get('x-request-id')
  const isHarmless = named !== null && ACCEPTED_ID.test(named) && !holdsSecret(named)
  return isHarmless ? named : newRequestId(at)
}

/** What the headers of an answer tell of its generation. */
export interface Generation {
  readonly generationId: GenerationId
  /** The bound of the answer where it was lowered; else null. */
  readonly loweredBound: number | null
  /** Who answers; null before anybody does. */
  readonly head: Pick<AnswerHead, 'model' | 'provider'> | null
}

/** The connections that requests come by. */
export interface Connections {
  /** Lets that of a request be idle for so long; for ever with 0. */
  timeout(request: Request, seconds: number): void
}

/** Filled in step by step; fields of later steps stay null if one fails. */
export class RequestContext implements Arrival {
  readonly request: Request
  readonly route: string
  readonly arrivedAt: Instant
  readonly arrivedMs: number
  readonly requestId: string
  key: ApiKey | null = null
  /** The memory that its body and its answer take; null before the key is known. */
  taken: TakenBytes | null = null
  /** A body is expected, of which some is unread. */
  isArriving = false
  quota: QuotaReading | null = null
  /** As it was asked for. */
  model: string | null = null
  /** Null before it begins, and for what is none. */
  walk: Walk | null = null
  /** Its walk, from the verdict on, or the generation whose answer it repeats. */
  generation: Generation | null = null
  /** The body is streamed after the headers; the stream also logs the request. */
  streams = false
  /** Undefined for a request from within, which comes by none. */
  private readonly connections: Connections | undefined

  constructor(clock: Clock, request: Request, route: string, connections?: Connections) {
    this.request = request
    this.route = route
    this.connections = connections
    this.arrivedAt = clock.now()
    this.arrivedMs = clock.monotonicMs()
    this.requestId = readRequestId(request, this.arrivedAt)
  }

  /** Once its body is read: from then on the client waits for the upstream. */
  disableIdleTimeout(): void {
    this.connections?.timeout(this.request, 0)
  }

  /** Once its answer is complete; else the connection would stay open for ever. */
  restoreIdleTimeout(): void {
    this.connections?.timeout(this.request, IDLE_SECONDS)
  }
}

/** Of a request whose key is known. */
export interface CallerContext extends RequestContext, Caller {
  readonly key: ApiKey
}

/** An answer to this request, with its headers; the caller may add others. */
export function respond(
  context: RequestContext,
  contentType: string,
  body: Body,
  status = 200,
): Response {
  const response = new Response(body, { status, headers: USUAL_HEADERS })
  const { headers } = response
  headers.set('Content-Type', contentType)
  headers.set('X-Request-Id', context.requestId)
  // Anthropic's libraries show it beside an answer.
  if (context.route === 'messages') headers.set('Request-Id', context.requestId)
  if (context.generation !== null) addGeneration(headers, context.generation)
  if (context.walk?.head) addProviderRequest(headers, context.walk)
  if (context.quota !== null) addRateHeaders(headers, context.quota)
  return response
}

type Body = ConstructorParameters<typeof Response>[0]

function addGeneration(headers: Headers, generation: Generation): void {
  const { generationId, loweredBound, head } = generation
  headers.set('X-Generation-Id', generationId)
  if (loweredBound !== null) headers.set('X-Gateway-Max-Output-Tokens', String(loweredBound))
  if (head === null) return
  headers.set('X-Gateway-Model', toHeader(head.model))
  headers.set('X-Gateway-Provider', head.provider)
}

/** By what the provider names the request; only clients that ask in its dialect are told. */
export function addProviderRequest(headers: Headers, { attempt }: Walk): void {
  const named = attempt?.sending.providerRequestId
  if (named && ACCEPTED_ID.test(named)) headers.set('X-Upstream-Request-Id', named)
}

/** An id may have characters that a header cannot. */
const toHeader = (text: string): string => (/^[ -~]*$/.test(text) ? text : encodeURI(text))

export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** A stream, with headers that keep caches and proxies from buffering it (contract §7). */
export function respondWithEvents(context: RequestContext, body: Body): Response {
  const response = respond(context, EVENT_STREAM, body)
  response.headers.set('Cache-Control', 'no-cache, no-transform')
  response.headers.set('X-Accel-Buffering', 'no')
  return response
}

/** Reads the windows for the rate headers, unless admission has; takes no slot. */
export async function readQuota(
  { store, clock }: { readonly store: { readonly admissions: Admissions }; readonly clock: Clock },
  context: RequestContext,
): Promise<void> {
  if (context.key === null || context.quota !== null) return
  const [quota = NO_QUOTA] = await store.admissions.quota([context.key.id], clock.now())
  context.quota = quota
}

export const JSON_TEXT = 'application/json'

/** A JSON answer with this request's headers. */
export const renderJson = (context: RequestContext, body: unknown, status = 200): Response =>
  respond(context, JSON_TEXT, toBody([JSON.stringify(body)], context.taken), status)

/** `Access-Control-Expose-Headers`. */
export const EXPOSED_HEADERS = [
  'X-RateLimit-Limit-Minute',
  'X-RateLimit-Remaining-Minute',
  'X-RateLimit-Reset-Minute',
  'X-RateLimit-Limit-Day',
  'X-RateLimit-Remaining-Day',
  'X-RateLimit-Reset-Day',
  'Retry-After',
  'X-Should-Retry',
  'X-Request-Id',
  'Request-Id',
  'X-Upstream-Request-Id',
  'X-Generation-Id',
  'X-Gateway-Model',
  'X-Gateway-Provider',
  'X-Gateway-Max-Output-Tokens',
  'Idempotent-Replayed',
].join(', ')

/** Of every answer. One object for all of them: it is copied for a fraction of what its fields cost one by one. */
const USUAL_HEADERS = new Headers({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS,
  'X-Content-Type-Options': 'nosniff',
  Server: 'gatewayctl',
})

/** Adds three headers for each window that has a limit. */
function addRateHeaders(headers: Headers, { minute, day }: QuotaReading): void {
  if (minute !== null) {
    headers.set('X-RateLimit-Limit-Minute', String(minute.limit))
    headers.set('X-RateLimit-Remaining-Minute', renderRest(minute.remaining))
    headers.set('X-RateLimit-Reset-Minute', String(minute.resetSeconds))
  }
  if (day !== null) {
    headers.set('X-RateLimit-Limit-Day', String(day.limit))
    headers.set('X-RateLimit-Remaining-Day', renderRest(day.remaining))
    headers.set('X-RateLimit-Reset-Day', String(day.resetSeconds))
  }
}

/** Faster than `String`, which caches its results; this number is different every time. */
const renderRest = (remaining: number): string => remaining.toFixed(0)

/**
 * From 15 KiB on, Bun writes each part of each header separately: sixty writes and 250 µs. With a stream it sends the headers
 * in one write, together with the body.
 */
const LONG_BYTES = 15_000
/** Written before the reader has to take it; an unread write is in memory beside the text that it came from. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** The body for a Response, which `taken` counts while it is sent. A long one is a stream, so it is chunked and has no Content-Length. */
export function toBody(
  text: readonly Piece[] | Uint8Array<ArrayBuffer>,
  taken: TakenBytes | null,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  const pieces = text instanceof Uint8Array ? [text] : text
  const length = lengthOf(pieces)
  if (isShort(pieces, length)) {
    taken?.release()
    return text instanceof Uint8Array ? text : join(text)
  }
  taken?.set(length)
  return toStream(cut(pieces), MAX_UNREAD_BYTES, taken)
}

type Piece = string | Uint8Array

const join = (pieces: readonly Piece[]): string | Uint8Array<ArrayBuffer> =>
  pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : joinBytes(pieces)

/** One piece of text is encoded and not copied once more: it may be of megabytes. */
export function joinBytes(pieces: readonly Piece[]): Uint8Array<ArrayBuffer> {
  const [only] = pieces
  if (pieces.length === 1 && typeof only === 'string') return new TextEncoder().encode(only)
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
}

/**
 * A stream that waits for its reader after every `mostUnread` bytes. What is written before anything is awaited leaves in one write with
 * the headers, which are ten by themselves.
 */
export const toStream = (
  pieces: Iterator<Piece> | AsyncIterator<Piece>,
  mostUnread: number,
  taken: TakenBytes | null,
): ReadableStream =>
  new ReadableStream({
    // Bun's direct stream, which writes strings without copying them.
    type: 'direct',
    async pull(controller) {
      try {
        let unread = 0
        for (;;) {
          const coming = pieces.next()
          const { done, value } = coming instanceof Promise ? await coming : coming
          if (!done) {
            controller.write(value)
            unread += value.length
            if (unread < mostUnread) continue
            unread = 0
          }
          // Ends only after the data was taken, too, because a stopping server waits for that.
          const flushed = controller.flush(true)
          if (flushed instanceof Promise) await flushed
          if (done) break
        }
        controller.end()
      } finally {
        taken?.release()
      }
    },
    // Called instead of `pull` where the client has disconnected before.
    cancel: () => taken?.release(),
  })

const lengthOf = (pieces: readonly Piece[]): number => {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}

/** A character has at most three bytes, so that a short text needs no exact count. */
function isShort(pieces: readonly Piece[], length: number): boolean {
  if (length * 3 < LONG_BYTES) return true
  if (length >= LONG_BYTES) return false
  let bytes = 0
  for (const piece of pieces) bytes += Buffer.byteLength(piece)
  return bytes < LONG_BYTES
}

function* cut(pieces: readonly Piece[]): Generator<Piece, void> {
  for (const piece of pieces) {
    if (typeof piece !== 'string' || piece.length <= MAX_UNREAD_BYTES) yield piece
    else yield* cutText(piece)
  }
}

/** Never between the two halves of a character. */
function* cutText(text: string): Generator<string, void> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + MAX_UNREAD_BYTES, text.length)
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--
    yield text.slice(from, to)
    from = to
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
