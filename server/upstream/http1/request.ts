/** Serialises a request: the head as text at once, the bytes when it is sent. */
import { Buffer } from 'node:buffer'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Message } from '../reply.ts'
import type { Target } from './target.ts'

export interface RequestText {
  readonly head: string
  readonly body: Message['body']
  /** Length of head and body in UTF-8. */
  readonly bytes: number
}

/** Anything else could inject a line, or another request. */
const NAME = /^[!#$%&'*+.^_`|~\da-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/

/** @throws UpstreamFailure `failed` when a field has forbidden characters, as a badly pasted credential can have */
export function toRequestText(
  { requestPrefix }: Target,
  { headers, requestId, body }: Message,
): RequestText {
  const bodyBytes = countBytes(body)
  const own = requestId === undefined ? '' : toLine('x-request-id', requestId)
  const head = `${requestPrefix}content-length: ${bodyBytes}\r\n${toLines(headers)}${own}\r\n`
  return { head, body, bytes: head.length + bodyBytes }
}

function countBytes(body: Message['body']): number {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.byteLength(body)
  let bytes = 0
  for (const piece of body) bytes += Buffer.byteLength(piece)
  return bytes
}

/** Writes the request to the beginning of `into`, which must be large enough. */
export function writeText({ head, body }: RequestText, into: Buffer): void {
  let at = into.write(head)
  if (body instanceof Uint8Array) into.set(body, at)
  else if (typeof body === 'string') into.write(body, at)
  else for (const piece of body) at += into.write(piece, at)
}

/** The headers of a provider are serialised once. */
const written = new WeakMap<Message['headers'], string>()

function toLines(headers: Message['headers']): string {
  const known = written.get(headers)
  if (known !== undefined) return known
  let lines = ''
  for (const name in headers) lines += toLine(name, headers[name] ?? '')
  written.set(headers, lines)
  return lines
}

function toLine(name: string, value: string): string {
  if (!NAME.test(name) || !VALUE.test(value)) {
    throw new UpstreamFailure('failed', `the ${name} header holds characters that cannot be sent`)
  }
  return `${name}: ${value}\r\n`
}
