/** A non-streamed answer: its body, read up to a limit, as one batch of the events that a stream would have sent. */
import type { ChatEvents } from '#domain/chat.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { LONG_BYTES, parseJson, parseText } from './read-json.ts'
import type { Piece, Reply } from './reply.ts'
import type { Answer, Watchdog } from './watchdog.ts'

/** A translated body. */
export interface Translated {
  readonly events: ChatEvents
  /** Set when the answer is an error; its events (a usage count, say) still count. */
  readonly failure: UpstreamFailure | null
}

/** The part of `Wire` that whole answers need. */
export interface WholeWire {
  /** `text` is empty unless the wire keeps it. */
  fromBody(body: unknown, call: UpstreamCall, text: string): Translated | Promise<Translated>
  /** It gets the text of each body, too. */
  readonly keepsText?: true
  /** A body that did not come with its head, in pieces that it may keep; null where it has to be parsed. */
  fromPieces?(pieces: readonly Uint8Array[], call: UpstreamCall): Translated | null
}

type Step = IteratorResult<ChatEvents, undefined>

const DONE: Promise<Step> = Promise.resolve({ done: true, value: undefined })

/**
 * The body is read on the first `next()`. A class because an async generator for one batch costs as much as four more awaits.
 */
export class WholeAnswer implements Answer, AsyncIterableIterator<ChatEvents, undefined> {
  readonly reply: Reply
  readonly watchdog: Watchdog
  private readonly wire: WholeWire
  private readonly call: UpstreamCall
  private isRead = false
  private failure: UpstreamFailure | null = null

  constructor(wire: WholeWire, call: UpstreamCall, reply: Reply, watchdog: Watchdog) {
    this.wire = wire
    this.call = call
    this.reply = reply
    this.watchdog = watchdog
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Step> {
    if (this.isRead) return this.end()
    this.isRead = true
    // A short answer that has come with its head waits for nothing.
    const text = this.reply.takeText?.(LONG_BYTES)
    if (!text) return this.readLong()
    this.watchdog.stop()
    return this.translate(parseText(text), text)
  }

  /** Where no pieces are kept, they are let go before the answer is translated: it may be of megabytes. */
  private readLong(): Promise<Step> {
    const { wire } = this
    return wire.fromPieces === undefined
      ? readWhole(this, wire.keepsText).then(([body, late]) => this.translate(body, late))
      : readPieces(this).then((body) => this.translatePieces(body))
  }

  private translatePieces(body: BufferedBody): Promise<Step> {
    const { wire } = this
    const passed = wire.fromPieces?.(piecesOf(body), this.call) ?? null
    return passed === null
      ? this.translate(...parseWhole(body, wire.keepsText))
      : this.begin(passed)
  }

  private translate(body: unknown, text: string): Promise<Step> {
    const translated = this.wire.fromBody(body, this.call, text)
    return translated instanceof Promise
      ? translated.then((late) => this.begin(late))
      : this.begin(translated)
  }

  private begin({ events, failure }: Translated): Promise<Step> {
    this.failure = failure
    return events.length > 0 ? Promise.resolve({ done: false, value: events }) : this.end()
  }

  private end(): Promise<Step> {
    const { failure } = this
    if (failure === null) return DONE
    this.failure = null
    return Promise.reject(failure)
  }
}

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
 * The parsed JSON of a whole answer of at most 64 MiB; undefined when it is not JSON. And its text, empty unless it is kept.
 * @throws UpstreamFailure when it is cut off, times out, is too large or empty
 */
export async function readWhole(answer: Answer, keepsText = false): Promise<[unknown, string]> {
  return parseWhole(await readPieces(answer), keepsText)
}

function parseWhole(body: BufferedBody, keepsText = false): [unknown, string] {
  const bytes = concatPieces(body)
  if (!keepsText) return [parseJson(bytes), '']
  const text = DECODER.decode(bytes)
  return [parseText(text), text]
}

async function readPieces(answer: Answer): Promise<BufferedBody> {
  const { watchdog } = answer
  try {
    const body = await readUpTo(answer, WHOLE_BYTES)
    watchdog.stop()
    if (!body.isWhole) throw new UpstreamFailure('failed', 'its answer is larger than 64 MiB')
    if (body.length === 0) throw new UpstreamFailure('failed', 'its answer is empty')
    return body
  } catch (thrown) {
    watchdog.cancel()
    throw watchdog.explain(thrown)
  }
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

/** Reads to the end or to the limit. */
async function readUpTo(answer: Answer, mostBytes: number): Promise<BufferedBody> {
  const body: BufferedBody = {
    answer,
    mostBytes,
    earlier: null,
    pieces: [],
    length: 0,
    isWhole: true,
  }
  for (;;) {
    const coming = answer.reply.read()
    if (coming instanceof Promise) answer.watchdog.startWaiting()
    // What is here already is taken in the same turn.
    const piece = coming instanceof Promise ? await coming : coming
    if (append(body, piece)) return body
  }
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

const piecesOf = ({ earlier, pieces }: BufferedBody): readonly Uint8Array[] =>
  earlier === null ? pieces : [...earlier, ...pieces]

const MAX_ROOM_BYTES = 8 * MEBIBYTE
let scratch = Buffer.alloc(0)

/**
 * The whole body, in a reused buffer: allocating megabytes for every image costs more than copying. The caller must not keep
 * the result, because the next body may overwrite it.
 */
function concatPieces(body: BufferedBody): Uint8Array {
  const { length } = body
  const all = piecesOf(body)
  const [only] = all
  if (all.length === 1 && only !== undefined) return only
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
