/** Writes a request as one piece, so that it leaves in one packet where it fits. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Message } from '../reply.ts'
import type { Target } from './target.ts'

export interface RequestText {
  readonly text: string | Uint8Array
  /** Its length in UTF-8. */
  readonly bytes: number
}

/** A field that fails this could end its line and begin another request. */
const NAME = /^[!#$%&'*+.^_`|~\da-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/

/** @throws UpstreamFailure `failed` when a field holds what no field may hold; a credential can be pasted wrongly */
export function toRequestText(
  { lead }: Target,
  { headers, requestId, body }: Message,
): RequestText {
  const bodyBytes = Buffer.byteLength(body)
  const own = requestId === undefined ? '' : toLine('x-request-id', requestId)
  const head = `${lead}content-length: ${bodyBytes}\r\n${toLines(headers)}${own}\r\n`
  const bytes = head.length + bodyBytes
  if (typeof body === 'string') return { text: head + body, bytes }
  return { text: Buffer.concat([Buffer.from(head, 'latin1'), body]), bytes }
}

/** What a provider is always told is written once. */
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
