/** Reads the body of an answer up to a bound, under the eyes of its watchdog. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Answer } from './call.ts'
import { parseJson } from './parse-json.ts'

const MEBIBYTE = 1_048_576
/** Sixteen large pictures in base64, and far more text than any model writes. */
const WHOLE_BYTES = 64 * MEBIBYTE
const ERROR_BYTES = 65_536

/** An error is told by its status; its words are not worth a long wait. */
const ERROR_MS = 5_000

interface Gathered {
  readonly length: number
  /** False when there was more, and the rest was let go. */
  readonly whole: boolean
  /** Hands all bytes to `use`, which may not keep them: they may stand where the next body will. */
  read<T>(use: (bytes: Uint8Array) => T): T
}

/**
 * The value of a whole JSON answer of at most 64 MiB; undefined when it is no JSON.
 * @throws UpstreamFailure when it breaks off, falls silent, is larger or empty
 */
export async function readWhole(answer: Answer): Promise<unknown> {
  const { watchdog } = answer
  try {
    const body = await gather(answer, WHOLE_BYTES)
    if (!body.whole) throw new UpstreamFailure('failed', 'its answer is larger than 64 MiB')
    if (body.length === 0) throw new UpstreamFailure('failed', 'its answer is empty')
    return body.read(parseJson)
  } catch (thrown) {
    watchdog.cancel()
    throw watchdog.explain(thrown)
  } finally {
    watchdog.stop()
  }
}

/** The first 64 KiB of an error's body; nothing of it when it cannot be read, since the status has said the most. */
export async function readErrorText(answer: Answer): Promise<string> {
  const timer = setTimeout(() => answer.watchdog.cancel(), ERROR_MS)
  try {
    return (await gather(answer, ERROR_BYTES)).read((bytes) => DECODER.decode(bytes))
  } catch {
    return ''
  } finally {
    clearTimeout(timer)
    answer.watchdog.stop()
  }
}

const DECODER = new TextDecoder()

/** Beyond so many, small pieces are put together early: each is an object of its own. */
const MOST_PIECES = 1_024

async function gather({ reply, watchdog }: Answer, mostBytes: number): Promise<Gathered> {
  const earlier: Uint8Array[] = []
  let pieces: Uint8Array[] = []
  let length = 0
  const end = (whole: boolean): Gathered => ({
    length,
    whole,
    read: (use) => use(join([...earlier, ...pieces], length)),
  })
  for (;;) {
    watchdog.waits()
    const piece = reply.read()
    const { done, value } = piece instanceof Promise ? await piece : piece
    watchdog.heard()
    if (done) return end(true)
    length += value.length
    if (pieces.push(value) >= MOST_PIECES) {
      earlier.push(Buffer.concat(pieces))
      pieces = []
    }
    if (length > mostBytes) {
      watchdog.cancel()
      return end(false)
    }
  }
}

const MOST_ROOM_BYTES = 8 * MEBIBYTE
let room = Buffer.alloc(0)

/** In memory that is there already, if it is large enough: new megabytes for every picture cost more than the copying. */
function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  if (length > MOST_ROOM_BYTES) return Buffer.concat(pieces, length)
  if (length > room.length) room = Buffer.allocUnsafeSlow(Math.min(2 * length, MOST_ROOM_BYTES))
  let at = 0
  for (const piece of pieces) {
    room.set(piece, at)
    at += piece.length
  }
  return room.subarray(0, length)
}
