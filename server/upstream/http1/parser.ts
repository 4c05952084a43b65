/** An incremental parser of one HTTP/1.1 answer: its head, its framing and its chunks (RFC 9112 §4–§7.1). */
import { UpstreamFailure } from '#domain/upstream.ts'

/** `why` must not quote the provider. */
const malformed = (why: string): UpstreamFailure =>
  new UpstreamFailure('failed', `its answer is not proper HTTP: ${why}`)

const MAX_HEAD_BYTES = 65_536
const HEAD_END = Buffer.from('\r\n\r\n')
const BEGINNING = Buffer.from('HTTP/1.')
const NOTHING = Buffer.alloc(0)

export class Parser {
  /** Null until it is complete; interim responses (1xx) are skipped. */
  head: Head | null = null
  /** The body is complete. */
  isComplete = false
  /** How long the connection may be idle afterwards; 0 when it must be closed. Final once the body is complete. */
  idleMs = 0
  /** Of a head that is incomplete. */
  partial: Buffer | null = null
  /** Bytes of all heads, interim ones included. */
  headBytes = 0
  chunks: Chunks | null = null
  /** Missing bytes of a body with Content-Length; infinite when the close of the connection ends the body. */
  left = 0
  /** The bytes of the last `takeBytes`; the body's part lies from `start` to `end`. */
  taken: Buffer = NOTHING
  start = 0
  end = 0

  /** Whether any byte has arrived. */
  get hasReceived(): boolean {
    return this.partial !== null || this.headBytes > 0
  }
}

/**
 * Parses more bytes; the parser owns them from now on.
 * @throws UpstreamFailure when they are not a valid answer
 */
export function takeBytes(parser: Parser, bytes: Buffer): void {
  const text = parser.partial === null ? bytes : Buffer.concat([parser.partial, bytes])
  let at = 0
  while (parser.head === null) {
    at = takeHead(parser, text, at)
    if (at < 0) return
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

/** Where the head that begins at `at` ends, or -1 when it is incomplete. */
function takeHead(parser: Parser, text: Buffer, at: number): number {
  // What came before was searched already, but its end may be split between two pieces.
  const searched = (parser.partial?.length ?? 0) - HEAD_END.length + 1
  const end = text.indexOf(HEAD_END, Math.max(at, searched))
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
  if (framing === 'chunked') parser.chunks = new Chunks()
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

/** A class because there is one per answer. Fields are searched on demand: only about six are needed. */
export class Head {
  readonly status: number
  /** HTTP/1.0 */
  readonly isHttp10: boolean
  /** Each field follows a CRLF, so that a name is found only at the start of a line. */
  private text: string

  /** `text` is everything up to the empty line, each line with its CRLF. @throws UpstreamFailure when it is invalid */
  constructor(text: string) {
    if (!HEAD.test(text)) throw malformed('no status line, a broken field or too many')
    this.text = text
    this.status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
    this.isHttp10 = text[STATUS_AT - 2] === '0'
  }

  /** Frees the text; `get` finds no field afterwards. */
  forget(): void {
    this.text = ''
  }

  get(name: string): string | null {
    const pattern = toPattern(name)
    let found: string | null = null
    pattern.lastIndex = 0
    while (pattern.test(this.text)) {
      const start = pattern.lastIndex
      const value = this.text.slice(start, this.text.indexOf('\r\n', start)).trim()
      found = found === null ? value : `${found}, ${value}`
    }
    return found
  }
}

/** By field name; the names are few and fixed. */
const patterns = new Map<string, RegExp>()

function toPattern(name: string): RegExp {
  const known = patterns.get(name)
  if (known !== undefined) return known
  const pattern = new RegExp(`\\r\\n${name}:`, 'gi')
  patterns.set(name, pattern)
  return pattern
}

/** A Content-Length, the chunked coding, or everything until the connection closes. */
export type Framing = number | 'chunked' | 'close'

/** The status line, and at most 256 fields, each on one line: obsolete line folding is not accepted. */
const HEAD =
  /^HTTP\/1\.[01] [1-5]\d\d(?: [^\r\n\0]*)?\r\n(?:[!#$%&'*+.^_`|~\da-z-]+:[^\r\n\0]*\r\n){0,256}$/i
const STATUS_AT = 'HTTP/1.1 '.length

/** @throws UpstreamFailure when the framing is ambiguous */
function readFraming(head: Head): Framing {
  if (head.status === 204 || head.status === 304) return 0
  const coding = head.get('transfer-encoding')
  const length = head.get('content-length')
  if (coding !== null) {
    if (length !== null) throw malformed('two statements of its length')
    if (head.isHttp10 || coding.toLowerCase() !== 'chunked') {
      throw malformed('a transfer coding that was not asked for')
    }
    return 'chunked'
  }
  return length === null ? 'close' : readLength(length)
}

const LENGTH = /^\d{1,15}$/

/** The same length repeated is one length (RFC 9112 §6.3). */
function readLength(text: string): number {
  if (LENGTH.test(text)) return Number(text)
  const [length = '', ...others] = text.split(/ *, */)
  if (!LENGTH.test(length) || others.some((other) => other !== length)) {
    throw malformed('no readable length')
  }
  return Number(length)
}

const MAX_IDLE_MS = 30_000
const CLOSE = /(?:^|,)\s*close\s*(?:,|$)/i
const HINT = /(?:^|[\s,])timeout=(\d{1,9})/i

/**
 * How long the connection may be idle after this answer, in milliseconds; 0 when it must be closed. One second less than the
 * provider's own `keep-alive` time-out.
 */
function readIdleTime(head: Head): number {
  const connection = head.get('connection')
  if (head.isHttp10 || (connection !== null && CLOSE.test(connection))) return 0
  const keepAlive = head.get('keep-alive')
  const hint = keepAlive === null ? null : HINT.exec(keepAlive)
  if (hint === null) return MAX_IDLE_MS
  return Math.min(Math.max(0, (Number(hint[1]) - 1) * 1_000), MAX_IDLE_MS)
}

type Step =
  | 'size'
  | 'extension'
  | 'size-end'
  | 'data'
  | 'data-return'
  | 'data-end'
  | 'trailer-start'
  | 'trailer'
  | 'trailer-end'
  | 'last-end'
  | 'over'

/** The decoder's state between two pieces. */
class Chunks {
  step: Step = 'size'
  /** The chunk's size while it is read, then the bytes still missing. */
  left = 0
  digits = 0
  /** Bytes of this line, or of all trailers. */
  lineBytes = 0
  /** Where the payload lies in the last piece. */
  start = 0
  end = 0
}

const MAX_CHUNK = 2 ** 48
const MAX_LINE = 4_096
const MAX_TRAILERS = 16_384

const CR = 13
const LF = 10

/**
 * Decodes `bytes` from `from` on, in place: the payload then lies from `start` to `end`. Returns where reading stopped, which is
 * before the end of `bytes` only when the body is complete.
 * @throws UpstreamFailure when the coding is invalid
 */
function takeChunks(chunks: Chunks, bytes: Buffer, from: number): number {
  let at = from
  let start = -1
  let end = from
  while (at < bytes.length && chunks.step !== 'over') {
    if (chunks.step !== 'data') {
      takeByte(chunks, bytes[at] ?? 0)
      at++
      continue
    }
    const stop = Math.min(bytes.length, at + chunks.left)
    // The first chunk, usually the only one, stays where it is.
    if (start < 0) start = at
    else bytes.copyWithin(end, at, stop)
    end = start === at ? stop : end + (stop - at)
    chunks.left -= stop - at
    if (chunks.left === 0) chunks.step = 'data-return'
    at = stop
  }
  chunks.start = start < 0 ? end : start
  chunks.end = end
  return at
}

function takeByte(chunks: Chunks, byte: number): void {
  switch (chunks.step) {
    case 'size':
      takeSize(chunks, byte)
      break
    case 'extension':
      if (byte === CR) chunks.step = 'size-end'
      else countLine(chunks, byte, MAX_LINE)
      break
    case 'size-end':
      expect(byte, LF)
      chunks.step = chunks.left === 0 ? 'trailer-start' : 'data'
      chunks.lineBytes = 0
      break
    case 'data-return':
      expect(byte, CR)
      chunks.step = 'data-end'
      break
    case 'data-end':
      expect(byte, LF)
      chunks.step = 'size'
      chunks.digits = 0
      break
    case 'trailer-start':
      if (byte === CR) chunks.step = 'last-end'
      else {
        chunks.step = 'trailer'
        countLine(chunks, byte, MAX_TRAILERS)
      }
      break
    case 'trailer':
      if (byte === CR) chunks.step = 'trailer-end'
      else countLine(chunks, byte, MAX_TRAILERS)
      break
    case 'trailer-end':
      expect(byte, LF)
      chunks.step = 'trailer-start'
      break
    case 'last-end':
      expect(byte, LF)
      chunks.step = 'over'
      break
  }
}

function takeSize(chunks: Chunks, byte: number): void {
  const digit = toDigit(byte)
  if (digit >= 0) {
    chunks.left = chunks.digits === 0 ? digit : chunks.left * 16 + digit
    chunks.digits++
    if (chunks.left > MAX_CHUNK || chunks.digits > MAX_LINE) {
      throw malformed('a chunk without end')
    }
    return
  }
  const isSeparator = byte === 0x3b || byte === 0x20 || byte === 0x09
  if (chunks.digits === 0 || !(isSeparator || byte === CR)) throw malformed('a chunk without size')
  chunks.step = byte === CR ? 'size-end' : 'extension'
}

function countLine(chunks: Chunks, byte: number, most: number): void {
  chunks.lineBytes++
  if (byte === LF || chunks.lineBytes > most) throw malformed('a line without end')
}

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw malformed('a chunk that does not end')
}

function toDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
