/** An upstream that costs next to nothing: answers made in advance, written to raw sockets. */
import type { Socket } from 'bun'
import { type Answer, streamed, whole } from './answer.ts'
import { b64Json, inlineData, messageImages } from './pictures.ts'
import { anthropicStream, CHUNKS, geminiStream, openAiStream, openAiWhole } from './wires.ts'

const FEW_CHUNKS = 20
/** A short stream leaves in this many writes beside its first and its last, a turn of the event loop apart. */
const FEW_BURSTS = 5

/** So many seconds. */
const SLOW_CHUNKS = 40
/** Where a piece says when it was sent. */
const stamp = 'at:0000000000000:'

const rush = { perPiece: 50, gapMs: 0 }
const paced = { perPiece: 1, gapMs: 1 }

/** By the second step of the path. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  words: whole(openAiWhole),
  'few-chunks': streamed(openAiStream(FEW_CHUNKS), { perPiece: FEW_CHUNKS / FEW_BURSTS, gapMs: 0 }),
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

interface Talk {
  request: string
  answer: Answer
  /** Of the answer's pieces, the next to leave. */
  next: number
  /** What the network did not take yet of the last one. */
  unsent: Buffer | null
}

const NOTHING: Answer = { pieces: [], gapMs: 0 }

/** Sends one piece, and sees to the next when it is its time. */
function send(socket: Socket<Talk>): void {
  const talk = socket.data
  const piece = talk.unsent ?? talk.answer.pieces[talk.next++]
  if (piece === undefined) return
  if (talk.answer.stamp !== undefined) date(piece, talk.answer.stamp)
  const sent = Math.max(0, socket.write(piece))
  talk.unsent = sent < piece.length ? piece.subarray(sent) : null
  if (talk.unsent !== null || talk.next === talk.answer.pieces.length) return
  if (talk.answer.gapMs === 0) setImmediate(send, socket)
  else setTimeout(send, talk.answer.gapMs, socket)
}

/** In its place: every stream of the same answer sends the same bytes, one turn after the other. */
function date(piece: Buffer, place: string): void {
  const at = piece.indexOf(place.slice(0, 3))
  if (at >= 0) piece.write(`at:${Date.now()}:`, at, 'latin1')
}

const server = Bun.listen<Talk>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { request: '', answer: NOTHING, next: 0, unsent: null }
    },
    data(socket, bytes) {
      const talk = socket.data
      talk.request += bytes.toString('latin1')
      const { request } = talk
      const headEnd = request.indexOf('\r\n\r\n')
      const length = /\r\ncontent-length: (\d+)/i.exec(request)?.[1]
      if (headEnd < 0 || request.length < headEnd + 4 + Number(length ?? 0)) return
      const name = request.split('/', 3)[2] ?? ''
      Object.assign(talk, { request: '', answer: ANSWERS[name] ?? NOTHING, next: 0 })
      send(socket)
    },
    drain(socket) {
      if (socket.data.unsent !== null) send(socket)
    },
  },
})

console.log(`http://127.0.0.1:${server.port}`)
