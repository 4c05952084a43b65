/** One request and its answer: delivers the head, buffers the body, and handles every way an exchange can end. */
import type { MaybePromise } from '#domain/maybe-promise.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { ExchangeControl, Piece, Reply, ReplyHandler } from '../reply.ts'
import {
  type Connection,
  dropConnection,
  type Exchange,
  pauseConnection,
  resumeConnection,
} from './connection.ts'
import type { Head } from './head.ts'
import { countIdle, keepIdle } from './idle-connections.ts'
import { cutPiece, cutText, endsAtClose, startParser, takeBytes } from './parser.ts'
import type { RequestText } from './request.ts'

/** Beyond it the connection is paused. The runtime reads at most half a mebibyte at once. */
const MAX_BUFFERED_BYTES = 262_144
/** The cost of an object, so that many tiny pieces count as well. */
const PIECE_BYTES = 256

const END: Piece = { done: true }

/** Exchanges in progress, with all providers. */
let activeExchanges = 0

/** Whether this is the only exchange in progress and the provider has no idle connection, so had no two at once recently. */
export const isOnlyExchange = ({ target }: Connection): boolean =>
  activeExchanges < 2 && countIdle(target.origin) === 0

/** Ends once, in `fail` or in `finish`. */
export function startExchange(
  request: RequestText,
  handler: ReplyHandler,
  control: ExchangeControl,
  isDedicated: boolean,
): Exchange {
  activeExchanges++
  const exchange = new ConnectionExchange(request, handler, control, isDedicated)
  control.attach(exchange)
  return exchange
}

/** A class because there is one per request; it is also the reply. */
class ConnectionExchange implements Exchange, Reply {
  request: RequestText | null
  readonly parser = startParser()
  readonly control: ExchangeControl
  readonly isDedicated: boolean
  connection: Connection | null = null
  handler: ReplyHandler | null
  isUncompressed = true
  hasWholeBody = false
  reading: Exchange['reading'] = null
  readonly buffered: Uint8Array[] = []
  bufferedBytes = 0
  fault: Exchange['fault'] = null

  constructor(
    request: RequestText,
    handler: ReplyHandler,
    control: ExchangeControl,
    isDedicated: boolean,
  ) {
    this.request = request
    this.handler = handler
    this.control = control
    this.isDedicated = isDedicated
  }

  get status(): number {
    return this.headers.status
  }

  get headers(): Head {
    const { head } = this.parser
    if (head === null) throw new Error('its head has not come')
    return head
  }

  read(): MaybePromise<Piece> {
    return this.isUncompressed ? read(this) : refuseCoding(this)
  }

  takeText(mostBytes: number): string | null {
    const { start, end } = this.parser
    if (!this.hasWholeBody || !this.isUncompressed || end - start > mostBytes) return null
    this.hasWholeBody = false
    return cutText(this.parser)
  }

  forgetHead(): void {
    this.parser.head?.forget()
  }

  abort(reason: unknown): void {
    abortExchange(this, reason)
  }
}

/** Handles received bytes; the exchange owns them from now on. */
export function receive(exchange: Exchange, connection: Connection, bytes: Buffer): void {
  const { parser, handler } = exchange
  try {
    takeBytes(parser, bytes)
  } catch (thrown) {
    fail(exchange, thrown)
    return
  }
  if (parser.isComplete && handler !== null) exchange.hasWholeBody = true
  else if (parser.end > parser.start) deliver(exchange, cutPiece(parser), bytes.length)
  if (parser.isComplete) finish(exchange, connection)
  else if (exchange.bufferedBytes > MAX_BUFFERED_BYTES) pauseConnection(connection)
  if (handler === null || parser.head === null) return
  exchange.handler = null
  exchange.isUncompressed = isUncompressed(parser.head)
  // Last, because the handler may read or abort at once.
  handler.resolve(exchange)
}

function isUncompressed(head: Head): boolean {
  const coding = head.get('content-encoding')
  return coding === null || coding === '' || coding.toLowerCase() === 'identity'
}

/** The provider has closed the connection; `isClean` for an orderly close (FIN, TLS close_notify). */
export function onPeerClosed(exchange: Exchange, connection: Connection, isClean: boolean): void {
  const { parser } = exchange
  if (isClean && endsAtClose(parser)) {
    parser.isComplete = true
    finish(exchange, connection)
    return
  }
  // A provider that closes a new connection may have read the request, so that it must not be sent again.
  const wasIdle = connection.idleUntilMs > 0
  fail(exchange, parser.hasReceived || !wasIdle ? connectionLost() : nothingReceived())
}

/** Ends it with a failure. Pieces that arrived before can still be read. */
export function fail(exchange: Exchange, thrown: unknown): void {
  const { connection, handler, reading } = exchange
  if (exchange.fault !== null || exchange.parser.isComplete) return
  activeExchanges--
  exchange.fault = { thrown }
  exchange.connection = null
  exchange.handler = null
  exchange.reading = null
  if (connection !== null) dropConnection(connection)
  handler?.reject(thrown)
  reading?.reject(thrown)
}

/** Ends it because the caller cancelled; buffered pieces are dropped. */
function abortExchange(exchange: Exchange, reason: unknown): void {
  fail(exchange, reason)
  exchange.fault ??= { thrown: reason }
  exchange.hasWholeBody = false
  exchange.buffered.length = 0
  exchange.bufferedBytes = 0
}

function deliver(exchange: Exchange, piece: Uint8Array, costBytes: number): void {
  const { reading } = exchange
  if (reading === null) {
    exchange.buffered.push(piece)
    exchange.bufferedBytes += costBytes + PIECE_BYTES
    return
  }
  exchange.reading = null
  reading.resolve({ done: false, value: piece })
}

/** A connection is not kept when its answer came before the whole request was sent: the rest would be read as the next request. */
function finish(exchange: Exchange, connection: Connection): void {
  const { idleMs } = exchange.parser
  activeExchanges--
  exchange.connection = null
  connection.exchange = null
  resumeConnection(connection)
  if (idleMs > 0 && connection.unsent === null && isWorthKeeping(exchange, connection))
    keepIdle(connection, idleMs)
  else dropConnection(connection)
  exchange.reading?.resolve(END)
  exchange.reading = null
}

/** Exchanges with dedicated connections never reuse idle ones, so that their connections would pile up. */
const isWorthKeeping = ({ isDedicated }: Exchange, { target }: Connection): boolean =>
  !isDedicated || countIdle(target.origin) === 0

function read(exchange: Exchange): MaybePromise<Piece> {
  if (exchange.hasWholeBody) {
    exchange.hasWholeBody = false
    const value = cutPiece(exchange.parser)
    if (value.length > 0) return { done: false, value }
  }
  const value = exchange.buffered.shift()
  if (value !== undefined) {
    if (exchange.buffered.length === 0) {
      exchange.bufferedBytes = 0
      if (exchange.connection !== null) resumeConnection(exchange.connection)
    }
    return { done: false, value }
  }
  if (exchange.fault !== null) return Promise.reject(exchange.fault.thrown)
  if (exchange.parser.isComplete) return END
  const reading = Promise.withResolvers<Piece>()
  exchange.reading = reading
  return reading.promise
}

/** `identity` was requested. Nothing is decompressed, because a small answer could inflate without bound. */
function refuseCoding(exchange: Exchange): Promise<Piece> {
  const failure = new UpstreamFailure('failed', 'it compressed an answer that was asked for plain')
  abortExchange(exchange, failure)
  return Promise.reject(failure)
}

const connectionLost = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'the connection broke off')

/** The only failure that is retried: its code marks it (`isConnectionLost`). */
const nothingReceived = (): Error =>
  Object.assign(new Error('the connection broke off'), { code: 'ECONNRESET' })
