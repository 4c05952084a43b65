/** An incremental decoder of the chunked transfer coding (RFC 9112 §7.1). */
import { malformed } from './malformed.ts'

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
export interface Chunks {
  step: Step
  /** The chunk's size while it is read, then the bytes still missing. */
  left: number
  digits: number
  /** Bytes of this line, or of all trailers. */
  lineBytes: number
  /** Where the payload lies in the last piece. */
  start: number
  end: number
}

const MAX_CHUNK = 2 ** 48
const MAX_LINE = 4_096
const MAX_TRAILERS = 16_384

const CR = 13
const LF = 10

export const startChunks = (): Chunks => ({
  step: 'size',
  left: 0,
  digits: 0,
  lineBytes: 0,
  start: 0,
  end: 0,
})

/**
 * Decodes `bytes` from `from` on, in place: the payload then lies from `start` to `end`. Returns where reading stopped, which is
 * before the end of `bytes` only when the body is complete.
 * @throws UpstreamFailure when the coding is invalid
 */
export function takeChunks(chunks: Chunks, bytes: Buffer, from: number): number {
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
