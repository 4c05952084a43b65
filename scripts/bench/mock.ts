/** An upstream that costs next to nothing: answers made in advance, written to raw sockets. */
import type { Socket } from 'bun'
import { type Answer, streamed, whole } from './answer.ts'
import { clear, ends, type Message, newMessage } from './message.ts'
import { b64Json, inlineData, messageImages } from './pictures.ts'
import {
  anthropicStream,
  CHUNKS,
  geminiStream,
  openAiStream,
  openAiWhole,
  RUSH_CHUNKS,
  TRICKLE_CHUNKS,
} from './wires.ts'

/** So many seconds. */
const SLOW_CHUNKS = 40
/** Where a piece says when it was sent. */
const stamp = 'at:0000000000000:'

const rush = { perPiece: 50, gapMs: 0 }
const paced = { perPiece: 1, gapMs: 1 }

/** By the second step of the path. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  words: whole(openAiWhole),
  'each-at-once': streamed(openAiStream(RUSH_CHUNKS), { perPiece: 1, gapMs: 0, atOnce: true }),
  trickle: streamed(openAiStream(TRICKLE_CHUNKS), { perPiece: 1, gapMs: 100 }),
  'openai-rush': streamed(openAiStream(CHUNKS), rush),
  'openai-paced': streamed(openAiStream(CHUNKS), paced),
  'anthropic-rush': streamed(anthropicStream(CHUNKS), rush),
  'anthropic-paced': streamed(anthropicStream(CHUNKS), paced),
  'gemini-rush': streamed(geminiStream(CHUNKS), rush),
  'gemini-paced': streamed(geminiStream(CHUNKS), paced),
  'inline-data': whole(inlineData),
  'message-images': whole(messageImages),
  'b64-json': whole(b64Json),
  slow: { ...streamed(openAiStream(SLOW_CHUNKS, stamp), { perPiece: 1, gapMs: 1_000 }), stamp },
}

interface Talk extends Message {
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
function send(socket: Socket<Talk>): void {
  const talk = socket.data
  const piece = talk.unsent ?? talk.answer.pieces[talk.next++]
  if (piece === undefined) return
  if (talk.answer.stamp !== undefined) date(piece, talk.answer.stamp)
  const sent = Math.max(0, socket.write(piece))
  talk.unsent = sent < piece.length ? piece.subarray(sent) : null
  if (talk.unsent !== null) return
  if (talk.next === talk.answer.pieces.length) finish(talk)
  else if (talk.answer.atOnce) send(socket)
  else if (talk.answer.gapMs === 0) setImmediate(send, socket)
  else setTimeout(send, talk.answer.gapMs, socket)
}

/** In its place: every stream of the same answer sends the same bytes, one turn after the other. */
function date(piece: Buffer, place: string): void {
  const at = piece.indexOf(place.slice(0, 3))
  if (at >= 0) piece.write(`at:${Date.now()}:`, at, 'latin1')
}

function begin(talk: Talk): void {
  talk.answer = ANSWERS[talk.head.split('/', 3)[2] ?? ''] ?? NOTHING
  talk.next = 0
  clear(talk)
  if (!talk.hasAsked) counts.connections++
  talk.hasAsked = true
  underWay++
  if (underWay > counts.most) counts.most = underWay
}

function finish(talk: Talk): void {
  talk.answer = NOTHING
  underWay--
}

/** Whoever asks by GET is the bench, and wants the counts. */
function tell(socket: Socket<Talk>): void {
  const body = JSON.stringify(counts)
  socket.end(
    `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  Object.assign(counts, { connections: 0, most: underWay })
}

const server = Bun.listen<Talk>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { ...newMessage(), hasAsked: false, answer: NOTHING, next: 0, unsent: null }
    },
    data(socket, bytes) {
      const talk = socket.data
      const isWhole = ends(talk, bytes)
      if (talk.head.startsWith('GET ')) return tell(socket)
      if (!isWhole) return
      begin(talk)
      if (talk.answer === NOTHING) socket.end()
      else send(socket)
    },
    drain(socket) {
      if (socket.data.unsent !== null) send(socket)
    },
    close({ data: talk }) {
      if (talk.answer !== NOTHING) finish(talk)
    },
  },
})

console.log(`http://127.0.0.1:${server.port}`)
