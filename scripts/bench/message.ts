/** Finds the end of an HTTP/1.1 message by counting: the parser state of one connection. */

export interface Message {
  /** Up to the empty line, as far as it is there. */
  head: string
  /** Of the body, what is still to come: infinite for one in chunks, which has a last one. */
  leftBytes: number
  /** Of the body, what has come. */
  bodyBytes: number
  /** The last of the body. */
  tail: string
}

/** Longer than any head here. */
const MAX_HEAD_BYTES = 4_096
const LAST_CHUNK = '\r\n0\r\n\r\n'
/** Enough to see how a stream of events ends: `data: [DONE]` and the last chunk, with a seam in the middle. */
const TAIL_BYTES = 48
/** Until the head is there. */
const UNKNOWN = -1

export const newMessage = (): Message => ({ head: '', leftBytes: UNKNOWN, bodyBytes: 0, tail: '' })

/** One record is reused for all messages of a connection: at thirty thousand a second, allocation would show. */
export function clear(message: Message): void {
  message.head = ''
  message.leftBytes = UNKNOWN
  message.bodyBytes = 0
  message.tail = ''
}

/** Whether these bytes end the message, by its length or its last chunk. Bodies are counted, not kept. */
export function ends(message: Message, bytes: Buffer): boolean {
  let at = 0
  if (message.leftBytes === UNKNOWN) {
    at = readHead(message, bytes)
    if (message.leftBytes === UNKNOWN) return false
  }
  message.bodyBytes += bytes.length - at
  message.leftBytes -= bytes.length - at
  const last = bytes.toString('latin1', Math.max(at, bytes.length - TAIL_BYTES), bytes.length)
  message.tail = last.length === TAIL_BYTES ? last : (message.tail + last).slice(-TAIL_BYTES)
  return message.leftBytes === Number.POSITIVE_INFINITY
    ? message.tail.endsWith(LAST_CHUNK)
    : message.leftBytes <= 0
}

/** Between two chunks of the transfer coding; a proxy may put one in the middle of a word. */
const SEAM = /\r\n[0-9a-f]+\r\n/g

/** Whether a body has this text here, whatever its chunks cut. */
export const says = (body: string, text: string): boolean =>
  body.includes(text) || body.replaceAll(SEAM, '').includes(text)

/** Takes what belongs to the head, and answers where the body begins in these bytes. */
function readHead(message: Message, bytes: Buffer): number {
  const known = message.head.length
  const text = message.head + bytes.toString('latin1', 0, Math.min(bytes.length, MAX_HEAD_BYTES))
  const end = text.indexOf('\r\n\r\n')
  message.head = end < 0 ? text : text.slice(0, end + 2)
  if (end < 0) return bytes.length
  const length = /\r\ncontent-length: (\d+)/i.exec(message.head)?.[1]
  message.leftBytes = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
  // A body in chunks that is empty ends right behind the head.
  message.tail = '\r\n'
  return end + 4 - known
}
