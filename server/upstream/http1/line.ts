/** One connection to a provider: it carries one exchange at a time, and rests between two of them. */
import { Buffer } from 'node:buffer'
import type { Socket } from 'bun'
import type { Leash, Opening, Piece, Reply } from '../reply.ts'
import type { Parser } from './parser.ts'
import { type RequestText, writeText } from './request.ts'
import type { Target } from './target.ts'

export interface Line {
  readonly target: Target
  /** Null until it stands. */
  socket: Socket<Line> | null
  /** Null while it rests. */
  exchange: Exchange | null
  /** What the network did not take yet of the request. */
  unsent: Buffer | null
  /** On the clock of `performance`. */
  restsUntilMs: number
  isPaused: boolean
  isDead: boolean
}

/** One request and, from its head on, its answer. */
export interface Exchange extends Reply {
  /** Null once it has left: an answer may take minutes, and a request may be large. */
  request: RequestText | null
  readonly parser: Parser
  /** Hears when its connection stands. */
  readonly leash: Pick<Leash, 'connected'>
  /** It asked for a connection of its own, which others need not find resting afterwards. */
  readonly isSolitary: boolean
  /** Null before it has one, and as soon as it needs none any more. */
  line: Line | null
  /** Who waits for the head; null once told. */
  opening: Opening | null
  /** False where the body is compressed all the same. */
  isPlain: boolean
  /** All of the body came with the head, and lies where the parser found it until somebody takes it. */
  isWhole: boolean
  /** Who waits for the next piece. */
  reading: Pick<PromiseWithResolvers<Piece>, 'resolve' | 'reject'> | null
  /** Pieces that nobody has asked for yet. */
  readonly held: Uint8Array[]
  heldBytes: number
  /** What broke it. */
  fault: { readonly thrown: unknown } | null
}

/** A connection that is about to be made for an exchange. */
export const startLine = (target: Target, exchange: Exchange): Line => ({
  target,
  socket: null,
  exchange,
  unsent: null,
  restsUntilMs: 0,
  isPaused: false,
  isDead: false,
})

/**
 * Where requests are put together: the network has its own copy when it has taken one, and memory that is used again is warm.
 * Text would be flattened and encoded into memory of its own.
 */
const desk = Buffer.allocUnsafeSlow(262_144)

/** Sends as much as the network takes; the rest follows when it has drained. False when nobody is there to take it. */
export function sendRequest(line: Line, request: RequestText): boolean {
  const { bytes } = request
  const isShort = bytes <= desk.length
  const written = isShort ? desk : Buffer.allocUnsafeSlow(bytes)
  writeText(request, written)
  const sent = line.socket?.write(written, 0, bytes) ?? -1
  if (sent >= 0 && sent < bytes) {
    const rest = written.subarray(sent, bytes)
    line.unsent = isShort ? Buffer.from(rest) : rest
  }
  return sent >= 0
}

/** Goes on where the network had enough. */
export function sendRest(line: Line): void {
  if (line.unsent === null || line.socket === null) return
  const sent = line.socket.write(line.unsent)
  // A connection that is gone says so by itself.
  if (sent < 0) return
  line.unsent = sent < line.unsent.length ? line.unsent.subarray(sent) : null
}

/** Takes nothing more off the network, so that the other side has to wait. */
export function pauseLine(line: Line): void {
  if (line.isPaused) return
  line.isPaused = true
  line.socket?.pause()
}

export function resumeLine(line: Line): void {
  if (!line.isPaused) return
  line.isPaused = false
  line.socket?.resume()
}

/** Hangs up at once. One that does not stand yet hangs up as soon as it does: nobody can call it back. */
export function dropLine(line: Line): void {
  if (line.isDead) return
  line.isDead = true
  line.exchange = null
  line.unsent = null
  line.socket?.terminate()
}
