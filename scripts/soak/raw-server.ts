/** A provider of raw sockets: it answers each request with pieces made in advance, and breaks off as no HTTP library would. */
import type { Socket } from 'bun'
import type { Answer } from '../bench/answer.ts'

/** How an exchange goes on after its last piece. */
export type Ending = 'keep' | 'close' | 'reset' | 'silence'

/** What one request is answered with. */
export interface Part extends Answer {
  readonly ending: Ending
  /** Before the first piece; none where it is left out. */
  readonly delayMs?: number
  /** Told once: whether the answer left whole, or the connection was gone before. */
  readonly onOver?: (isWhole: boolean) => void
}

/** A listening provider. */
export interface RawServer {
  readonly origin: string
  stop(): void
}

interface Exchange {
  request: string
  part: Part
  next: number
  unsent: Buffer | null
}

/** Nothing is said, and the connection stays. */
export const IDLE: Part = { pieces: [], gapMs: 0, ending: 'keep' }

/** Listens on a free port of loopback; `toPart` gets each request, head and body, in latin1. */
export function startRawServer(toPart: (request: string) => Part): RawServer {
  const server = Bun.listen<Exchange>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { request: '', part: IDLE, next: 0, unsent: null }
      },
      data(socket, bytes) {
        const exchange = socket.data
        exchange.request += bytes.toString('latin1')
        if (!isComplete(exchange.request)) return
        Object.assign(exchange, {
          request: '',
          part: toPart(exchange.request),
          next: 0,
          unsent: null,
        })
        const { delayMs } = exchange.part
        if (delayMs === undefined) send(socket)
        else setTimeout(send, delayMs, socket)
      },
      drain(socket) {
        if (socket.data.unsent !== null) send(socket)
      },
      close({ data: exchange }) {
        finish(exchange, false)
      },
      error() {},
    },
  })
  return { origin: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

/** One body with its length, under a status line and whatever fields follow it. */
export function plain(status: string, body: string, type = 'application/json'): Answer {
  const length = Buffer.byteLength(body)
  const head = `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`
  return { pieces: [Buffer.from(head + body)], gapMs: 0 }
}

function isComplete(request: string): boolean {
  const headEnd = request.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(request)?.[1]
  return headEnd >= 0 && request.length >= headEnd + 4 + Number(length ?? 0)
}

function send(socket: Socket<Exchange>): void {
  const exchange = socket.data
  // The gateway may have hung up while the next piece waited for its time.
  if (socket.readyState !== 1) return
  const piece = exchange.unsent ?? exchange.part.pieces[exchange.next++]
  if (piece !== undefined) {
    const sent = Math.max(0, socket.write(piece))
    exchange.unsent = sent < piece.length ? piece.subarray(sent) : null
    if (exchange.unsent !== null) return
  }
  if (exchange.next >= exchange.part.pieces.length) end(socket)
  else setTimeout(send, exchange.part.gapMs, socket)
}

function end(socket: Socket<Exchange>): void {
  const { ending } = socket.data.part
  if (ending === 'keep') finish(socket.data, true)
  if (ending === 'close') socket.end()
  if (ending === 'reset') socket.terminate()
}

function finish(exchange: Exchange, isWhole: boolean): void {
  const { onOver } = exchange.part
  exchange.part = IDLE
  onOver?.(isWhole)
}
