/** An incremental parser of one HTTP/1.1 answer. */
import { type Chunks, startChunks, takeChunks } from './chunks.ts'
import { Head, readFraming, readIdleTime } from './head.ts'
import { malformed } from './malformed.ts'

export interface Parser {
  /** Null until it is complete; interim responses (1xx) are skipped. */
  head: Head | null
  /** The body is complete. */
  isComplete: boolean
  /** Whether any byte has arrived. */
  hasReceived: boolean
  /** How long the connection may be idle afterwards; 0 when it must be closed. Final once the body is complete. */
  idleMs: number
  partial: Buffer | null
  /** Bytes of all heads, interim ones included. */
  headBytes: number
  chunks: Chunks | null
  /** Missing bytes of a body with Content-Length; infinite when the close of the connection ends the body. */
  left: number
  /** The bytes of the last `takeBytes`; the body's part lies from `start` to `end`. */
  taken: Buffer
  start: number
  end: number
}

const MAX_HEAD_BYTES = 65_536
const HEAD_END = Buffer.from('\r\n\r\n')
const BEGINNING = Buffer.from('HTTP/1.')
const NOTHING = Buffer.alloc(0)

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
 * Parses more bytes; the parser owns them from now on.
 * @throws UpstreamFailure when they are not a valid answer
 */
export function takeBytes(parser: Parser, bytes: Buffer): void {
  parser.hasReceived = true
  parser.start = 0
  parser.end = 0
  const { partial } = parser
  const text = partial === null ? bytes : Buffer.concat([partial, bytes])
  // The end of the head may be split between two pieces.
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

/** The body's part of the last bytes, as a buffer that may be kept. */
export function cutPiece(parser: Parser): Buffer {
  const { taken, start, end } = parser
  parser.taken = NOTHING
  if (start === 0 && end === taken.length) return taken
  const piece = taken.subarray(start, end)
  // A view retains the whole buffer: a few bytes must not retain half a mebibyte.
  return piece.length * MAX_WASTE_FACTOR < taken.length ? Buffer.from(piece) : piece
}

const MAX_WASTE_FACTOR = 4

/** The same as text, without a byte order mark. */
export function cutText(parser: Parser): string {
  const { taken, start, end } = parser
  parser.taken = NOTHING
  const text = taken.toString('utf8', start, end)
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}

const BYTE_ORDER_MARK = 0xfeff

/** Whether the close of the connection ends the answer properly. */
export function endsAtClose(parser: Parser): boolean {
  return parser.head !== null && parser.left === Number.POSITIVE_INFINITY
}

/** Where the head that begins at `at` ends, or -1 when it is incomplete. Everything before `seen` was searched already. */
function takeHead(parser: Parser, text: Buffer, at: number, seen: number): number {
  const end = text.indexOf(HEAD_END, seen)
  const behind = end < 0 ? text.length : end + HEAD_END.length
  if (parser.headBytes + behind - at > MAX_HEAD_BYTES) throw malformed('a head larger than 64 KiB')
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

/** Fails early: a server of another protocol may wait for us while we wait for the end of a head. */
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

/** After stray bytes behind the answer the connection is not reused. */
function conclude(parser: Parser, hasStray: boolean): void {
  parser.isComplete = true
  if (hasStray) parser.idleMs = 0
}
