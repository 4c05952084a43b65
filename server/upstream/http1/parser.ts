/** Reads one answer out of a connection's bytes, however the network cut them, and tells where it ends. */
import { type Chunks, startChunks, takeChunks } from './chunks.ts'
import { Head, readFraming, readIdleTime } from './head.ts'
import { malformed } from './malformed.ts'

export interface Parser {
  /** Null until all of it has come; interim answers (1xx) are passed over. */
  head: Head | null
  /** The body has come to its end. */
  isComplete: boolean
  /** Whether anything came at all. */
  hasReceived: boolean
  /** How long the connection may rest before it serves another request; 0 when it may not. Known at the end. */
  idleMs: number
  partial: Buffer | null
  /** Of heads, interim ones included. */
  headBytes: number
  chunks: Chunks | null
  /** Of a body whose length is stated; infinite where the end of the connection is its end. */
  left: number
  /** What was taken last, and where the part of the body in it stands. */
  taken: Buffer
  start: number
  end: number
}

const MOST_HEAD_BYTES = 65_536
const HEAD_END = Buffer.from('\r\n\r\n')
const BEGINNING = Buffer.from('HTTP/1.')
const NOTHING = Buffer.alloc(0)

/** Starts before the first byte of an answer. */
export const startParser = (): Parser => ({
  head: null,
  isComplete: false,
  hasReceived: false,
  idleMs: 0,
  partial: null,
  headBytes: 0,
  chunks: null,
  left: 0,
  taken: NOTHING,
  start: 0,
  end: 0,
})

/**
 * Finds the part of the body in `bytes`, which become the parser's own.
 * @throws UpstreamFailure when they are no answer
 */
export function takeBytes(parser: Parser, bytes: Buffer): void {
  parser.hasReceived = true
  parser.start = 0
  parser.end = 0
  const { partial } = parser
  const text = partial === null ? bytes : Buffer.concat([partial, bytes])
  // A head's end may have come half with the bytes before.
  let seen = partial === null ? 0 : Math.max(0, partial.length - HEAD_END.length + 1)
  let at = 0
  while (parser.head === null) {
    at = takeHead(parser, text, at, seen)
    if (at < 0) return
    seen = at
  }
  parser.taken = text
  if (parser.chunks === null) takeByLength(parser, text, at)
  else takeChunked(parser, parser.chunks, text, at)
}

/** The part of the body that was taken last, for whoever keeps it. */
export function cutPiece(parser: Parser): Buffer {
  const { taken, start, end } = parser
  parser.taken = NOTHING
  if (start === 0 && end === taken.length) return taken
  const piece = taken.subarray(start, end)
  // A view keeps all the bytes that it was cut from in memory: next to nothing must not hold half a mebibyte.
  return piece.length * MOST_WASTE_FACTOR < taken.length ? Buffer.from(piece) : piece
}

const MOST_WASTE_FACTOR = 4

/** The same as text. A byte order mark is no part of it. */
export function cutText(parser: Parser): string {
  const { taken, start, end } = parser
  parser.taken = NOTHING
  const text = taken.toString('utf8', start, end)
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}

const BYTE_ORDER_MARK = 0xfeff

/** Whether the end of the connection is the proper end of the answer. */
export function endsAtClose(parser: Parser): boolean {
  return parser.head !== null && parser.left === Number.POSITIVE_INFINITY
}

/** Where a head that begins at `at` ends, or -1 when its end has not come; up to `seen` it had not. */
function takeHead(parser: Parser, text: Buffer, at: number, seen: number): number {
  const end = text.indexOf(HEAD_END, seen)
  const behind = end < 0 ? text.length : end + HEAD_END.length
  if (parser.headBytes + behind - at > MOST_HEAD_BYTES) throw malformed('a head larger than 64 KiB')
  if (end < 0) {
    parser.partial = at === 0 ? text : text.subarray(at)
    checkBeginning(parser.partial)
    return -1
  }
  parser.partial = null
  parser.headBytes += behind - at
  const head = new Head(text.toString('latin1', at, end + 2))
  if (head.status === 101) throw malformed('another protocol')
  if (head.status >= 200) startBody(parser, head)
  return behind
}

/** Whoever speaks something else may wait for us while we wait for the end of a head. */
function checkBeginning(text: Buffer): void {
  const seen = Math.min(text.length, BEGINNING.length)
  if (text.compare(BEGINNING, 0, seen, 0, seen) !== 0) throw malformed('no status line')
}

function startBody(parser: Parser, head: Head): void {
  const framing = readFraming(head)
  parser.head = head
  parser.idleMs = framing === 'close' ? 0 : readIdleTime(head)
  if (framing === 'chunked') parser.chunks = startChunks()
  else parser.left = framing === 'close' ? Number.POSITIVE_INFINITY : framing
}

function takeByLength(parser: Parser, bytes: Buffer, at: number): void {
  const came = bytes.length - at
  parser.start = at
  parser.end = at + Math.min(came, parser.left)
  if (came < parser.left) {
    parser.left -= came
    return
  }
  conclude(parser, came > parser.left)
  parser.left = 0
}

function takeChunked(parser: Parser, chunks: Chunks, bytes: Buffer, at: number): void {
  const stopped = takeChunks(chunks, bytes, at)
  parser.start = chunks.start
  parser.end = chunks.end
  if (chunks.step === 'over') conclude(parser, stopped < bytes.length)
}

/** Bytes behind the end belong to nothing that was asked: whoever sent them is not trusted with another request. */
function conclude(parser: Parser, hasStray: boolean): void {
  parser.isComplete = true
  if (hasStray) parser.idleMs = 0
}
