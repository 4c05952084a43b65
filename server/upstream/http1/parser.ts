/** Reads one answer out of a connection's bytes, however the network cut them, and tells where it ends. */
import { type Chunks, startChunks, takeChunks } from './chunks.ts'
import { Head, readFraming, readRest } from './head.ts'
import { malformed } from './malformed.ts'

export interface Parser {
  /** Null until all of it has come; interim answers (1xx) are passed over. */
  head: Head | null
  /** The body has come to its end. */
  isOver: boolean
  /** Whether anything came at all. */
  hasHeard: boolean
  /** How long the connection may rest before it serves another request; 0 when it may not. Known at the end. */
  restMs: number
  partial: Buffer | null
  /** Of heads, interim ones included. */
  headBytes: number
  chunks: Chunks | null
  /** Of a body whose length is stated; infinite where the end of the connection is its end. */
  left: number
}

const MOST_HEAD_BYTES = 65_536
const HEAD_END = Buffer.from('\r\n\r\n')
const BEGINNING = Buffer.from('HTTP/1.')
const NOTHING = Buffer.alloc(0)

/** Starts before the first byte of an answer. */
export const startParser = (): Parser => ({
  head: null,
  isOver: false,
  hasHeard: false,
  restMs: 0,
  partial: null,
  headBytes: 0,
  chunks: null,
  left: 0,
})

/**
 * The part of the body in `bytes`, which become the parser's own; empty when there is none.
 * @throws UpstreamFailure when they are no answer
 */
export function takeBytes(parser: Parser, bytes: Buffer): Buffer {
  parser.hasHeard = true
  const { partial } = parser
  const text = partial === null ? bytes : Buffer.concat([partial, bytes])
  // A head's end may have come half with the bytes before.
  let seen = partial === null ? 0 : Math.max(0, partial.length - HEAD_END.length + 1)
  let at = 0
  while (parser.head === null) {
    at = takeHead(parser, text, at, seen)
    if (at < 0) return NOTHING
    seen = at
  }
  return parser.chunks === null
    ? takeCounted(parser, text, at)
    : takeChunked(parser, parser.chunks, text, at)
}

/** Whether the end of the connection is the proper end of the answer. */
export function endsHere(parser: Parser): boolean {
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
  parser.restMs = framing === 'close' ? 0 : readRest(head)
  if (framing === 'chunked') parser.chunks = startChunks()
  else parser.left = framing === 'close' ? Number.POSITIVE_INFINITY : framing
}

function takeCounted(parser: Parser, bytes: Buffer, at: number): Buffer {
  const came = bytes.length - at
  if (came < parser.left) {
    parser.left -= came
    return came === 0 ? NOTHING : bytes.subarray(at)
  }
  const piece = bytes.subarray(at, at + parser.left)
  parser.left = 0
  conclude(parser, came > piece.length)
  return piece
}

function takeChunked(parser: Parser, chunks: Chunks, bytes: Buffer, at: number): Buffer {
  const stopped = takeChunks(chunks, bytes, at)
  if (chunks.step === 'over') conclude(parser, stopped < bytes.length)
  if (chunks.start === chunks.end) return NOTHING
  const piece = bytes.subarray(chunks.start, chunks.end)
  // A view keeps all the bytes that it was cut from in memory: next to nothing must not hold half a mebibyte.
  return piece.length * MOST_HELD_TIMES < bytes.length ? Buffer.from(piece) : piece
}

const MOST_HELD_TIMES = 4

/** Bytes behind the end belong to nothing that was asked: whoever sent them is not trusted with another request. */
function conclude(parser: Parser, hasStray: boolean): void {
  parser.isOver = true
  if (hasStray) parser.restMs = 0
}
