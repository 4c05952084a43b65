/** The body of a non-streamed answer, sent in as few writes as possible. */
import type { TakenBytes } from '../read/byte-budget.ts'

/**
 * From 15 KiB on, Bun writes each part of each header separately: sixty writes and 250 µs. With a stream it sends the headers
 * in one write, together with the body.
 */
const LONG_BYTES = 15_000
/** Written before the reader has to take it; an unread write is in memory beside the text that it came from. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** The body for a Response, which `taken` counts while it is sent. A long one is a stream, so it is chunked and has no Content-Length. */
export function toBody(
  text: readonly Piece[] | Uint8Array<ArrayBuffer>,
  taken: TakenBytes | null,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  const pieces = text instanceof Uint8Array ? [text] : text
  const length = lengthOf(pieces)
  if (isShort(pieces, length)) {
    taken?.release()
    return text instanceof Uint8Array ? text : join(text)
  }
  taken?.set(length)
  return toStream(cut(pieces), MAX_UNREAD_BYTES, taken)
}

type Piece = string | Uint8Array

const join = (pieces: readonly Piece[]): string | Uint8Array<ArrayBuffer> =>
  pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : joinBytes(pieces)

/** One piece of text is encoded and not copied once more: it may be of megabytes. */
export function joinBytes(pieces: readonly Piece[]): Uint8Array<ArrayBuffer> {
  const [only] = pieces
  if (pieces.length === 1 && typeof only === 'string') return new TextEncoder().encode(only)
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
}

/** A stream that waits for its reader after every `mostUnread` bytes. */
export const toStream = (
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  mostUnread: number,
  taken: TakenBytes | null,
): ReadableStream =>
  new ReadableStream({
    // Bun's direct stream, which writes strings without copying them.
    type: 'direct',
    async pull(controller) {
      try {
        let unread = 0
        for await (const piece of pieces) {
          controller.write(piece)
          unread += piece.length
          if (unread < mostUnread) continue
          await controller.flush(true)
          unread = 0
        }
        // Ends only after the data was taken, because a stopping server waits for that.
        await controller.flush(true)
        controller.end()
      } finally {
        taken?.release()
      }
    },
    // Called instead of `pull` where the client has disconnected before.
    cancel: () => taken?.release(),
  })

const lengthOf = (pieces: readonly Piece[]): number => {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}

/** A character has at most three bytes, so that a short text needs no exact count. */
function isShort(pieces: readonly Piece[], length: number): boolean {
  if (length * 3 < LONG_BYTES) return true
  if (length >= LONG_BYTES) return false
  let bytes = 0
  for (const piece of pieces) bytes += Buffer.byteLength(piece)
  return bytes < LONG_BYTES
}

function* cut(pieces: readonly Piece[]): Generator<Piece, void> {
  for (const piece of pieces) {
    if (typeof piece !== 'string' || piece.length <= MAX_UNREAD_BYTES) yield piece
    else yield* cutText(piece)
  }
}

/** Never between the two halves of a character. */
function* cutText(text: string): Generator<string, void> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + MAX_UNREAD_BYTES, text.length)
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--
    yield text.slice(from, to)
    from = to
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
