/** Reads the body of an answer up to a size limit; the watchdog enforces the time-outs. */
import type { MaybePromise } from '#domain/maybe-promise.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Answer } from './call.ts'
import { LONG_BYTES, parseJson, parseText } from './parse-json.ts'
import type { Piece } from './reply.ts'

const MEBIBYTE = 1_048_576
/** Sixteen large images in base64, and far more text than any model writes. */
const WHOLE_BYTES = 64 * MEBIBYTE
const ERROR_BYTES = 65_536

/** The status says what failed; the error's text is not worth a long wait. */
const ERROR_MS = 5_000

interface BufferedBody {
  readonly answer: Answer
  readonly mostBytes: number
  /** Concatenated already; null until there are `MAX_PIECES` pieces. */
  earlier: Uint8Array[] | null
  pieces: Uint8Array[]
  length: number
  /** False when the body exceeded the limit and the rest was dropped. */
  isWhole: boolean
}

/**
 * The parsed JSON of a whole answer of at most 64 MiB; undefined when it is not JSON. Synchronous when all bytes are here.
 * @throws UpstreamFailure when it is cut off, times out, is too large or empty
 */
export function readWhole(answer: Answer): MaybePromise<unknown> {
  const { reply, watchdog } = answer
  const text = reply.takeText?.(LONG_BYTES)
  if (text) {
    watchdog.stop()
    return parseText(text)
  }
  const body = readUpTo(answer, WHOLE_BYTES)
  return body instanceof Promise ? parseLater(answer, body) : parse(body)
}

async function parseLater({ watchdog }: Answer, body: Promise<BufferedBody>): Promise<unknown> {
  try {
    return parse(await body)
  } catch (thrown) {
    watchdog.cancel()
    throw watchdog.explain(thrown)
  }
}

function parse(body: BufferedBody): unknown {
  body.answer.watchdog.stop()
  if (!body.isWhole) throw new UpstreamFailure('failed', 'its answer is larger than 64 MiB')
  if (body.length === 0) throw new UpstreamFailure('failed', 'its answer is empty')
  return parseJson(concatPieces(body))
}

/** The first 64 KiB of an error's body; empty when it cannot be read, because the status alone is enough. */
export async function readErrorText(answer: Answer): Promise<string> {
  answer.watchdog.limitRest(ERROR_MS)
  try {
    return DECODER.decode(concatPieces(await readUpTo(answer, ERROR_BYTES)))
  } catch {
    return ''
  } finally {
    answer.watchdog.stop()
  }
}

const DECODER = new TextDecoder()

/** Reads to the end or to the limit; synchronous while pieces are available. */
function readUpTo(answer: Answer, mostBytes: number): MaybePromise<BufferedBody> {
  const body: BufferedBody = {
    answer,
    mostBytes,
    earlier: null,
    pieces: [],
    length: 0,
    isWhole: true,
  }
  for (;;) {
    const piece = next(answer)
    if (piece instanceof Promise) return readRestUpTo(body, piece)
    if (append(body, piece)) return body
  }
}

async function readRestUpTo(body: BufferedBody, coming: Promise<Piece>): Promise<BufferedBody> {
  let piece = await coming
  while (!append(body, piece)) {
    const later = next(body.answer)
    piece = later instanceof Promise ? await later : later
  }
  return body
}

function next({ reply, watchdog }: Answer): MaybePromise<Piece> {
  const piece = reply.read()
  if (piece instanceof Promise) watchdog.startWaiting()
  return piece
}

/** So many small pieces are concatenated early, because each is an object of its own. */
const MAX_PIECES = 1_024

/** True when the body is complete or too large. */
function append(body: BufferedBody, { done, value }: Piece): boolean {
  const { watchdog } = body.answer
  watchdog.received()
  if (done) return true
  body.length += value.length
  if (body.pieces.push(value) >= MAX_PIECES) {
    body.earlier ??= []
    body.earlier.push(Buffer.concat(body.pieces))
    body.pieces = []
  }
  if (body.length <= body.mostBytes) return false
  watchdog.cancel()
  body.isWhole = false
  return true
}

const MAX_ROOM_BYTES = 8 * MEBIBYTE
let scratch = Buffer.alloc(0)

/**
 * The whole body, in a reused buffer: allocating megabytes for every image costs more than copying. The caller must not keep
 * the result, because the next body may overwrite it.
 */
function concatPieces({ earlier, pieces, length }: BufferedBody): Uint8Array {
  const [only] = pieces
  if (earlier === null && pieces.length === 1 && only !== undefined) return only
  const all = earlier === null ? pieces : [...earlier, ...pieces]
  if (length > MAX_ROOM_BYTES) return Buffer.concat(all, length)
  if (length > scratch.length)
    scratch = Buffer.allocUnsafeSlow(Math.min(2 * length, MAX_ROOM_BYTES))
  let at = 0
  for (const piece of all) {
    scratch.set(piece, at)
    at += piece.length
  }
  return scratch.subarray(0, length)
}
