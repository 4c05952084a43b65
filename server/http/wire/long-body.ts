/** The body of a non-streamed answer, sent in as few writes as possible. */

/**
 * From 15 KiB on, Bun writes each part of each header separately: sixty writes and 250 µs. With a stream it sends the headers
 * in one write, together with the body.
 */
const LONG_BYTES = 15_000

/** The body for a Response. A long one is a stream, so it is chunked and has no Content-Length. */
export function toBody(
  text: readonly string[] | Uint8Array<ArrayBuffer>,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  const pieces = text instanceof Uint8Array ? [text] : text
  if (isShort(pieces)) return text instanceof Uint8Array ? text : text.join('')
  return new ReadableStream({
    // Bun's direct stream, which writes strings without copying them.
    type: 'direct',
    async pull(controller) {
      for (const piece of pieces) controller.write(piece)
      // Ends only after the data was taken, because a stopping server waits for that.
      await controller.flush(true)
      controller.end()
    },
  })
}

/** A character has at most three bytes, so that a short text needs no exact count. */
function isShort(pieces: readonly (string | Uint8Array)[]): boolean {
  let length = 0
  for (const piece of pieces) length += piece.length
  if (length * 3 < LONG_BYTES) return true
  let bytes = 0
  for (const piece of pieces) bytes += Buffer.byteLength(piece)
  return bytes < LONG_BYTES
}
