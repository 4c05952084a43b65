/**
 * Reads AWS's event stream (application/vnd.amazon.eventstream): binary messages, each with headers and a payload, both under a
 * checksum. The payload of a chunk holds an event of the model's own API, in base64.
 */

import { isObject, readText } from '#domain/json.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { parseText } from '../read-json.ts'
import type { SseEvent } from '../sse.ts'
import type { EventReader } from '../stream.ts'

/** Lengths of the message and of its headers, and the checksum of both. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** As of an event of any other stream. */
const MAX_MESSAGE_BYTES = 16 * 1_048_576

/** The event is as Anthropic's API sends it, so is its text. */
export function createEventStreamReader(): EventReader {
  let pieces: Uint8Array[] = []
  let held = 0
  let needed = PRELUDE_BYTES

  const feed = (bytes: Uint8Array): readonly SseEvent[] => {
    pieces.push(bytes)
    held += bytes.length
    if (held < needed) return NOTHING
    const events: SseEvent[] = []
    let left = join(pieces, held)
    for (needed = needs(left); left.length >= needed; needed = needs(left)) {
      const event = readMessage(left.subarray(0, needed))
      if (event !== null) events.push(event)
      left = left.subarray(needed)
    }
    // A copy: a view would retain the whole piece.
    pieces = left.length === 0 ? [] : [Buffer.from(left)]
    held = left.length
    return events
  }

  // The translation knows whether the answer was complete.
  return { feed, end: () => NOTHING }
}

const NOTHING: readonly SseEvent[] = []

const join = (pieces: readonly Uint8Array[], length: number): Buffer => {
  const [only] = pieces
  if (pieces.length > 1 || only === undefined) return Buffer.concat(pieces, length)
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength)
}

/** How many bytes the first message has, or, until that is known, its prelude. @throws UpstreamFailure */
function needs(bytes: Buffer): number {
  if (bytes.length < PRELUDE_BYTES) return PRELUDE_BYTES
  const total = bytes.readUInt32BE(0)
  const ofHeaders = bytes.readUInt32BE(4)
  if (Bun.hash.crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw damaged()
  if (total > MAX_MESSAGE_BYTES) {
    throw new UpstreamFailure('failed', 'one event of its stream is too large')
  }
  if (total < PRELUDE_BYTES + ofHeaders + CHECKSUM_BYTES) throw damaged()
  return total
}

/** Null for one that says nothing. @throws UpstreamFailure */
function readMessage(message: Buffer): SseEvent | null {
  const end = message.length - CHECKSUM_BYTES
  if (Bun.hash.crc32(message.subarray(0, end)) !== message.readUInt32BE(end)) throw damaged()
  const headersEnd = PRELUDE_BYTES + message.readUInt32BE(4)
  const headers = readHeaders(message.subarray(PRELUDE_BYTES, headersEnd))
  const payload = message.toString('utf8', headersEnd, end)
  const kind = headers.get(':message-type')
  if (kind === 'event') {
    return headers.get(':event-type') === 'chunk' ? readChunk(payload) : null
  }
  const type = headers.get(':exception-type') ?? headers.get(':error-code') ?? ''
  return toError(type, headers.get(':error-message') ?? readMessageOf(payload))
}

/** An event that has no name is one that only keeps the connection open. */
function readChunk(payload: string): SseEvent | null {
  const chunk = parseText(payload)
  const bytes = isObject(chunk) ? readText(chunk['bytes']) : undefined
  if (bytes === undefined) return null
  const data = Buffer.from(bytes, 'base64').toString()
  const parsed = parseText(data)
  const event = isObject(parsed) ? readText(parsed['type']) : undefined
  return event === undefined ? null : toEvent(event, data)
}

const toEvent = (event: string, data: string): SseEvent => ({
  event,
  data,
  text: `event: ${event}\ndata: ${data}\n\n`,
})

/** As Anthropic's API names what went wrong. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  modelTimeoutException: 'timeout_error',
  validationException: 'invalid_request_error',
}

const toError = (exception: string, message: string): SseEvent =>
  toEvent(
    'error',
    JSON.stringify({
      type: 'error',
      error: { type: ERROR_TYPES[exception] ?? 'api_error', message: message || exception },
    }),
  )

function readMessageOf(payload: string): string {
  const parsed = parseText(payload)
  return (isObject(parsed) ? readText(parsed['message']) : undefined) ?? ''
}

/** Bytes of the values that have a fixed length, by type. */
const FIXED_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16]
const TEXT = 7

/** Those whose values are texts. @throws UpstreamFailure */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  try {
    for (let at = 0; at < bytes.length; ) {
      const nameEnd = at + 1 + bytes.readUInt8(at)
      const name = bytes.toString('utf8', at + 1, nameEnd)
      const type = bytes.readUInt8(nameEnd)
      const fixed = FIXED_BYTES[type]
      if (fixed === undefined) throw damaged()
      const start = nameEnd + 1 + (fixed === null ? 2 : 0)
      const end = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
      if (type === TEXT) headers.set(name, bytes.toString('utf8', start, end))
      at = end
    }
  } catch (thrown) {
    throw thrown instanceof UpstreamFailure ? thrown : damaged()
  }
  return headers
}

const damaged = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'its stream is damaged: a checksum or a length is wrong')
