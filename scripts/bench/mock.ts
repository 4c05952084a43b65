/** A mock upstream of minimal cost: prepared answers, written to raw sockets. */
import type { Socket } from 'bun'
import { type Answer, streamed, whole } from './answer.ts'
import { b64Json, inlineData, messageImages } from './images.ts'
import { clear, ends, type Message, newMessage } from './message.ts'
import { readCertificate } from './tls.ts'
import { vectors } from './vectors.ts'
import {
  anthropicStream,
  BURST_CHUNKS,
  CHUNKS,
  geminiStream,
  openAiStream,
  openAiWhole,
  PACED_CHUNKS,
  TRICKLE_CHUNKS,
  TURN_CHUNKS,
  withoutPrelude,
} from './wires.ts'

/** So many seconds. */
const SLOW_CHUNKS = 40
/** Where a piece says when it was sent. */
const stamp = 'at:0000000000000:'

const burst = { perPiece: 50, gapMs: 0 }
const paced = { perPiece: 1, gapMs: 1 }

/** By the second step of the path. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  words: whole(openAiWhole),
  'each-at-once': streamed(openAiStream(BURST_CHUNKS), { perPiece: 1, gapMs: 0, atOnce: true }),
  'one-by-one': streamed(withoutPrelude(openAiStream(PACED_CHUNKS)), { perPiece: 1, gapMs: 20 }),
  trickle: streamed(openAiStream(TRICKLE_CHUNKS), { perPiece: 1, gapMs: 100 }),
  'openai-rush': streamed(openAiStream(CHUNKS), burst),
  'openai-paced': streamed(openAiStream(CHUNKS), paced),
  'anthropic-rush': streamed(anthropicStream(CHUNKS), burst),
  'anthropic-paced': streamed(anthropicStream(CHUNKS), paced),
  'gemini-rush': streamed(geminiStream(CHUNKS), burst),
  'gemini-paced': streamed(geminiStream(CHUNKS), paced),
  'claude-turn': streamed(anthropicStream(TURN_CHUNKS), burst),
  vectors: whole(vectors),
  'inline-data': whole(inlineData),
  'message-images': whole(messageImages),
  'b64-json': whole(b64Json),
  slow: { ...streamed(openAiStream(SLOW_CHUNKS, stamp), { perPiece: 1, gapMs: 1_000 }), stamp },
}

interface Exchange extends Message {
  hasAsked: boolean
  answer: Answer
  /** Of the answer's pieces, the next to leave. */
  next: number
  /** What the network did not take yet of the last one. */
  unsent: Buffer | null
}

const NOTHING: Answer = { pieces: [], gapMs: 0 }

/** Since they were last told. */
const counts = { connections: 0, most: 0 }
/** Answers that have begun and not ended. */
let underWay = 0

/** Sends one piece, and sees to the next when it is its time. */
function send(socket: Socket<Exchange>): void {
  const exchange = socket.data
  const piece = exchange.unsent ?? exchange.answer.pieces[exchange.next++]
  if (piece === undefined) return
  if (exchange.answer.stamp !== undefined) date(piece, exchange.answer.stamp)
  const sent = Math.max(0, socket.write(piece))
  exchange.unsent = sent < piece.length ? piece.subarray(sent) : null
  if (exchange.unsent !== null) return
  if (exchange.next === exchange.answer.pieces.length) finish(exchange)
  else if (exchange.answer.atOnce) send(socket)
  else if (exchange.answer.gapMs === 0) setImmediate(send, socket)
  else setTimeout(send, exchange.answer.gapMs, socket)
}

/** In its place: every stream of the same answer sends the same bytes, one turn after the other. */
function date(piece: Buffer, place: string): void {
  const at = piece.indexOf(place.slice(0, 3))
  if (at >= 0) piece.write(`at:${Date.now()}:`, at, 'latin1')
}

function begin(exchange: Exchange): void {
  exchange.answer = ANSWERS[exchange.head.split('/', 3)[2] ?? ''] ?? NOTHING
  exchange.next = 0
  clear(exchange)
  if (!exchange.hasAsked) counts.connections++
  exchange.hasAsked = true
  underWay++
  if (underWay > counts.most) counts.most = underWay
}

function finish(exchange: Exchange): void {
  exchange.answer = NOTHING
  underWay--
}

/** GET is the bench reading the counts, and where the same is to be had by TLS. */
function report(socket: Socket<Exchange>): void {
  const body = JSON.stringify({ ...counts, secureOrigin: `https://localhost:${secure.port}` })
  socket.end(
    `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  Object.assign(counts, { connections: 0, most: underWay })
}

const listening: Bun.TCPSocketListenOptions<Exchange> = {
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { ...newMessage(), hasAsked: false, answer: NOTHING, next: 0, unsent: null }
    },
    data(socket, bytes) {
      const exchange = socket.data
      const isWhole = ends(exchange, bytes)
      if (exchange.head.startsWith('GET ')) return report(socket)
      if (!isWhole) return
      begin(exchange)
      if (exchange.answer === NOTHING) socket.end()
      else send(socket)
    },
    drain(socket) {
      if (socket.data.unsent !== null) send(socket)
    },
    close({ data: exchange }) {
      if (exchange.answer !== NOTHING) finish(exchange)
    },
  },
}

const server = Bun.listen(listening)
const secure = Bun.listen({ ...listening, tls: await readCertificate() })

console.log(`http://127.0.0.1:${server.port}`)
