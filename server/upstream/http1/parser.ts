/** Reads one answer out of a connection's bytes, however the network cut them, and tells where it ends. */
import { type Chunks, startChunks, takeChunks } from './chunks.ts'
import { type Head, readFraming, readHead, readRest } from './head.ts'
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
  let rest = bytes
  while (parser.head === null) {
    const behind = takeHead(parser, rest)
    if (behind === null) return NOTHING
    rest = behind
  }
  return parser.chunks === null
    ? takeCounted(parser, rest)
    : takeChunked(parser, parser.chunks, rest)
}

/** Whether the end of the connection is the proper end of the answer. */
export function endsHere(parser: Parser): boolean {
  return parser.head !== null && parser.left === Number.POSITIVE_INFINITY
}

/** What stands behind a head, or null when its end has not come. */
function takeHead(parser: Parser, bytes: Buffer): Buffer | null {
  const before = parser.partial?.length ?? 0
  const text = parser.partial === null ? bytes : Buffer.concat([parser.partial, bytes])
  const end = text.indexOf(HEAD_END, Math.max(0, before - HEAD_END.length + 1))
  const headBytes = end < 0 ? text.length : end + HEAD_END.length
  if (parser.headBytes + headBytes > MOST_HEAD_BYTES) throw malformed('a head larger than 64 KiB')
  if (end < 0) {
    checkBeginning(text)
    parser.partial = text
    return null
  }
  parser.partial = null
  parser.headBytes += headBytes
  const head = readHead(text.toString('latin1', 0, end + 2))
  if (head.status === 101) throw malformed('another protocol')
  if (head.status >= 200) startBody(parser, head)
  return text.subarray(headBytes)
}

/** Whoever speaks something else may wait for us while we wait for the end of a head. */
function checkBeginning(text: Buffer): void {
  const seen = Math.min(text.length, BEGINNING.length)
  if (text.compare(BEGINNING, 0, seen, 0, seen) !== 0) throw malformed('no status line')
}

function startBody(parser: Parser, head: ReturnType<typeof readHead>): void {
  const framing = readFraming(head)
  parser.head = head
  parser.restMs = framing === 'close' ? 0 : readRest(head)
  if (framing === 'chunked') parser.chunks = startChunks()
  else parser.left = framing === 'close' ? Number.POSITIVE_INFINITY : framing
}

function takeCounted(parser: Parser, bytes: Buffer): Buffer {
  if (bytes.length < parser.left) {
    parser.left -= bytes.length
    return bytes
  }
  const piece = bytes.subarray(0, parser.left)
  parser.left = 0
  conclude(parser, bytes.length > piece.length)
  return piece
}

function takeChunked(parser: Parser, chunks: Chunks, bytes: Buffer): Buffer {
  const { start, end, at } = takeChunks(chunks, bytes)
  if (chunks.step === 'over') conclude(parser, at < bytes.length)
  const piece = bytes.subarray(start, end)
  // A view keeps all the bytes that it was cut from in memory: next to nothing must not hold half a mebibyte.
  return piece.length * MOST_HELD_TIMES < bytes.length ? Buffer.from(piece) : piece
}

const MOST_HELD_TIMES = 4

/** Bytes behind the end belong to nothing that was asked: whoever sent them is not trusted with another request. */
function conclude(parser: Parser, hasStray: boolean): void {
  parser.isOver = true
  if (hasStray) parser.restMs = 0
}
