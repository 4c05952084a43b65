/** One connection to a provider: it carries one exchange at a time, and rests between two of them. */
import { Buffer } from 'node:buffer'
import type { Socket } from 'bun'
import type { ExchangeControl, Piece, Reply, ReplyHandler } from '../reply.ts'
import type { Parser } from './parser.ts'
import { type RequestText, writeText } from './request.ts'
import type { Target } from './target.ts'

export interface Connection {
  readonly target: Target
  /** Null until it stands. */
  socket: Socket<Connection> | null
  /** Null while it rests. */
  exchange: Exchange | null
  /** What the network did not take yet of the request. */
  unsent: Buffer | null
  /** On the clock of `performance`. */
  idleUntilMs: number
  isPaused: boolean
  isDead: boolean
}

/** One request and, from its head on, its answer. */
export interface Exchange extends Reply {
  /** Null once it has left: an answer may take minutes, and a request may be large. */
  request: RequestText | null
  readonly parser: Parser
  /** Hears when its connection stands. */
  readonly control: Pick<ExchangeControl, 'connected'>
  /** It asked for a connection of its own, which others need not find resting afterwards. */
  readonly isDedicated: boolean
  /** Null before it has one, and as soon as it needs none any more. */
  connection: Connection | null
  /** Who waits for the head; null once told. */
  handler: ReplyHandler | null
  /** False where the body is compressed all the same. */
  isUncompressed: boolean
  /** All of the body came with the head, and lies where the parser found it until somebody takes it. */
  hasWholeBody: boolean
  /** Who waits for the next piece. */
  reading: Pick<PromiseWithResolvers<Piece>, 'resolve' | 'reject'> | null
  /** Pieces that nobody has asked for yet. */
  readonly buffered: Uint8Array[]
  bufferedBytes: number
  /** What broke it. */
  fault: { readonly thrown: unknown } | null
}

/** A connection that is about to be made for an exchange. */
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
 * Where requests are put together: the network has its own copy when it has taken one, and memory that is used again is warm.
 * Text would be flattened and encoded into memory of its own.
 */
const sendBuffer = Buffer.allocUnsafeSlow(262_144)

/** Sends as much as the network takes; the rest follows when it has drained. False when nobody is there to take it. */
export function sendRequest(connection: Connection, request: RequestText): boolean {
  const { bytes } = request
  const isShort = bytes <= sendBuffer.length
  const written = isShort ? sendBuffer : Buffer.allocUnsafeSlow(bytes)
  writeText(request, written)
  const sent = connection.socket?.write(written, 0, bytes) ?? -1
  if (sent >= 0 && sent < bytes) {
    const rest = written.subarray(sent, bytes)
    connection.unsent = isShort ? Buffer.from(rest) : rest
  }
  return sent >= 0
}

/** Goes on where the network had enough. */
export function sendRest(connection: Connection): void {
  if (connection.unsent === null || connection.socket === null) return
  const sent = connection.socket.write(connection.unsent)
  // A connection that is gone says so by itself.
  if (sent < 0) return
  connection.unsent = sent < connection.unsent.length ? connection.unsent.subarray(sent) : null
}

/** Takes nothing more off the network, so that the other side has to wait. */
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

/** Hangs up at once. One that does not stand yet hangs up as soon as it does: nobody can call it back. */
export function dropConnection(connection: Connection): void {
  if (connection.isDead) return
  connection.isDead = true
  connection.exchange = null
  connection.unsent = null
  connection.socket?.terminate()
}
