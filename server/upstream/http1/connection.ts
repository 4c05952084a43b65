/** One connection to a provider: it carries one exchange at a time and is idle in between. */
import { Buffer } from 'node:buffer'
import type { ExchangeControl, Piece, Reply, ReplyHandler } from '../reply.ts'
import type { Parser } from './parser.ts'
import { type RequestText, writeText } from './request.ts'
import type { Target } from './target.ts'

/** What a connection needs of a socket. */
export interface Line {
  /** How many bytes it accepted; it copies them. Negative when it is closed. */
  write(bytes: Buffer, start?: number, length?: number): number
  pause(): unknown
  resume(): unknown
  ref(): unknown
  unref(): unknown
  /** Closes at once. */
  terminate(): unknown
}

export interface Connection {
  readonly target: Target
  /** Null until it is established; through a proxy's tunnel, from the beginning. */
  socket: Line | null
  /** Null while it is idle. */
  exchange: Exchange | null
  /** The part of the request that the socket has not accepted yet. */
  unsent: Buffer | null
  /** On the clock of `performance`. */
  idleUntilMs: number
  isPaused: boolean
  isDead: boolean
}

/** One request and, from its head on, its answer. */
export interface Exchange extends Reply {
  /** Null once it was sent: an answer may take minutes, and a request may be large. */
  request: RequestText | null
  readonly parser: Parser
  readonly control: Pick<ExchangeControl, 'connected' | 'sent'>
  /** It asked for a new connection, which need not be kept afterwards. */
  readonly isDedicated: boolean
  /** Null before it has one and after the exchange has ended. */
  connection: Connection | null
  /** Receives the head; null once it has. */
  handler: ReplyHandler | null
  /** False when the provider compressed the body although `identity` was requested. */
  isUncompressed: boolean
  /** The whole body arrived with the head and still lies in the parser's buffer. */
  hasWholeBody: boolean
  /** The pending read. */
  reading: Pick<PromiseWithResolvers<Piece>, 'resolve' | 'reject'> | null
  /** Pieces that were not read yet. */
  readonly buffered: Uint8Array[]
  bufferedBytes: number
  fault: { readonly thrown: unknown } | null
}

export const startConnection = (target: Target, exchange: Exchange): Connection => ({
  target,
  socket: null,
  exchange,
  unsent: null,
  idleUntilMs: 0,
  isPaused: false,
  isDead: false,
})

/**
 * Requests are written into this buffer before they are sent: the socket copies what it accepts, and reused memory is in the
 * CPU's cache. Passing a string would flatten and encode it into new memory.
 */
const sendBuffer = Buffer.allocUnsafeSlow(262_144)

/** Sends what the socket accepts; the rest follows when it drains. False when the connection is closed. */
export function sendRequest(connection: Connection, request: RequestText): boolean {
  const { bytes } = request
  const isShort = bytes <= sendBuffer.length
  const written = isShort ? sendBuffer : Buffer.allocUnsafeSlow(bytes)
  writeText(request, written)
  const sent = connection.socket?.write(written, 0, bytes) ?? -1
  if (sent > 0) connection.exchange?.control.sent()
  if (sent >= 0 && sent < bytes) {
    const rest = written.subarray(sent, bytes)
    connection.unsent = isShort ? Buffer.from(rest) : rest
  }
  return sent >= 0
}

/** Sends more after the socket has drained. */
export function sendRest(connection: Connection): void {
  if (connection.unsent === null || connection.socket === null) return
  const sent = connection.socket.write(connection.unsent)
  // Closed: the socket's `close` event follows.
  if (sent < 0) return
  if (sent > 0) connection.exchange?.control.sent()
  connection.unsent = sent < connection.unsent.length ? connection.unsent.subarray(sent) : null
}

/** Stops reading, so that TCP slows the provider down. */
export function pauseConnection(connection: Connection): void {
  if (connection.isPaused) return
  connection.isPaused = true
  connection.socket?.pause()
}

export function resumeConnection(connection: Connection): void {
  if (!connection.isPaused) return
  connection.isPaused = false
  connection.socket?.resume()
}

/** Closes at once. One that is still connecting is closed once it is established: connecting without a tunnel cannot be cancelled. */
export function dropConnection(connection: Connection): void {
  if (connection.isDead) return
  connection.isDead = true
  connection.exchange = null
  connection.unsent = null
  connection.socket?.terminate()
}
