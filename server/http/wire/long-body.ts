/** The body of a whole answer, which leaves in as few writes as it can. */

/**
 * From 15 KiB on, Bun writes every name, colon and value of an answer's head to the network by itself: sixty writes, and
 * 250 µs. The head of a stream leaves in one, together with the body.
 */
const LONG_BYTES = 15_000

/** What a Response takes as its body. The length of a long one is not stated: it comes in chunks. */
export function toBody(
  text: readonly string[] | Uint8Array<ArrayBuffer>,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  const pieces = text instanceof Uint8Array ? [text] : text
  if (isShort(pieces)) return text instanceof Uint8Array ? text : text.join('')
  return new ReadableStream({
    // Bun's own kind of stream, which writes text as it is.
    type: 'direct',
    async pull(controller) {
      for (const piece of pieces) controller.write(piece)
      // It is not over before it has been taken: a server that stops waits for that.
      await controller.flush(true)
      controller.end()
    },
  })
}

/** A short text is known by its characters, of at most three bytes each: its bytes need not be counted. */
function isShort(pieces: readonly (string | Uint8Array)[]): boolean {
  let length = 0
  for (const piece of pieces) length += piece.length
  if (length * 3 < LONG_BYTES) return true
  let bytes = 0
  for (const piece of pieces) bytes += Buffer.byteLength(piece)
  return bytes < LONG_BYTES
}
