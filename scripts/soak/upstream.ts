/** The providers of the soak on one raw socket server: each answers as its wire does, or fails as the prompt's plan says. */
import type { Socket } from 'bun'
import { type Answer, streamed, whole } from '../bench/answer.ts'
import { type Plan, readPlan } from './plan.ts'
import { WIRES, type Wire } from './wires.ts'

export interface SoakUpstream {
  /** A provider's base URL is this and its name. */
  readonly origin: string
  /** Requests that came in so far. */
  readonly asked: () => number
  stop(): void
}

/** How an exchange goes on after its last piece. */
type Ending = 'keep' | 'close' | 'reset' | 'silence'

interface Part extends Answer {
  readonly ending: Ending
}

interface Talk {
  request: string
  part: Part
  next: number
  unsent: Buffer | null
}

const IDLE: Part = { pieces: [], gapMs: 0, ending: 'keep' }

const REFUSALS = {
  'says-429': '429 Too Many Requests\r\nretry-after: 1',
  'says-500': '500 Internal Server Error',
  'says-503': '503 Service Unavailable',
} as const

/** Listens on a free port of loopback. */
export function startUpstream(): SoakUpstream {
  let asked = 0
  const server = Bun.listen<Talk>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { request: '', part: IDLE, next: 0, unsent: null }
      },
      data(socket, bytes) {
        const talk = socket.data
        talk.request += bytes.toString('latin1')
        if (!isComplete(talk.request)) return
        asked++
        Object.assign(talk, { request: '', part: toPart(talk.request), next: 0, unsent: null })
        send(socket)
      },
      drain(socket) {
        if (socket.data.unsent !== null) send(socket)
      },
      error() {},
    },
  })
  return {
    origin: `http://127.0.0.1:${server.port}`,
    asked: () => asked,
    stop: () => server.stop(true),
  }
}

function isComplete(request: string): boolean {
  const headEnd = request.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(request)?.[1]
  return headEnd >= 0 && request.length >= headEnd + 4 + Number(length ?? 0)
}

function send(socket: Socket<Talk>): void {
  const talk = socket.data
  // The gateway may have hung up while the next piece waited for its time.
  if (socket.readyState !== 1) return
  const piece = talk.unsent ?? talk.part.pieces[talk.next++]
  if (piece !== undefined) {
    const sent = Math.max(0, socket.write(piece))
    talk.unsent = sent < piece.length ? piece.subarray(sent) : null
    if (talk.unsent !== null) return
  }
  if (talk.next >= talk.part.pieces.length) end(socket)
  else setTimeout(send, talk.part.gapMs, socket)
}

function end(socket: Socket<Talk>): void {
  const { ending } = socket.data.part
  if (ending === 'close') socket.end()
  if (ending === 'reset') socket.terminate()
}

function toPart(request: string): Part {
  const plan = readPlan(request)
  const name = request.split('/', 2)[1] ?? ''
  const wire = WIRES[name] ?? WIRES['openai']
  if (!wire) throw new Error('no wire')
  const isStream = /streamGenerateContent|"stream":true/.test(request)
  const refusal = REFUSALS[plan.kind as keyof typeof REFUSALS]
  if (refusal !== undefined)
    return { ...plain(refusal, '{"error":{"message":"no"}}'), ending: 'keep' }
  switch (plan.kind) {
    case 'mute':
      return { ...IDLE, ending: 'silence' }
    case 'reset':
      return { ...IDLE, ending: 'reset' }
    case 'nonsense':
      return { ...plain('200 OK', '<html>who are you?</html>', 'text/html'), ending: 'keep' }
    default:
      return isStream ? streamedPart(wire, plan) : wholePart(wire, plan)
  }
}

function plain(status: string, body: string, type = 'application/json'): Answer {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`
  return { pieces: [Buffer.from(head + body)], gapMs: 0 }
}

/** A whole answer takes as long as the stream of it would, and breaks off in the middle where it is to break off. */
function wholePart(wire: Wire, { kind, chunks, gapMs }: Plan): Part {
  const [bytes = Buffer.alloc(0)] = whole(wire.whole).pieces
  const half = bytes.subarray(0, bytes.length / 2)
  const thinksMs = Math.min(2_000, chunks * gapMs)
  const pieces = [Buffer.alloc(0), kind === 'answer' || kind === 'uncounted' ? bytes : half]
  return { pieces, gapMs: thinksMs, ending: endingOf(kind) }
}

function streamedPart(wire: Wire, { kind, chunks, gapMs, at }: Plan): Part {
  const events = wire.stream(chunks)
  const last = kind === 'uncounted' ? events.last.replace(wire.counts, '') : events.last
  const { pieces } = streamed({ ...events, last }, { perPiece: 1, gapMs })
  const breaksOff = kind === 'cut' || kind === 'freeze'
  return { pieces: breaksOff ? pieces.slice(0, at + 1) : pieces, gapMs, ending: endingOf(kind) }
}

function endingOf(kind: Plan['kind']): Ending {
  if (kind === 'cut') return 'close'
  return kind === 'freeze' ? 'silence' : 'keep'
}
