/** Makes connections, and passes on what their sockets say. */
import type { Socket } from 'bun'
import { fail, hangUp, hear, isAlone } from './exchange.ts'
import { dropLine, type Exchange, type Line, sendRequest, sendRest, startLine } from './line.ts'
import { forgetResting } from './resting.ts'
import type { Target } from './target.ts'

/**
 * Connects for an exchange and sends its request as soon as the connection stands and, with TLS, the certificate has been
 * accepted. A name is looked up and its addresses tried by the runtime.
 */
export function connect(target: Target, exchange: Exchange): void {
  const line = startLine(target, exchange)
  exchange.line = line
  const { hostname, port, tls } = target
  const connecting =
    tls === null
      ? Bun.connect({ hostname, port, data: line, socket: CLEAR })
      : Bun.connect({ hostname, port, data: line, socket: SECURE, tls })
  connecting.catch((thrown) => {
    line.isDead = true
    if (line.exchange !== null) fail(line.exchange, thrown)
  })
}

let beginning: Line[] = []

/**
 * Puts the request on a connection that stands. One of many goes together with all that begin in this turn of the event loop,
 * so that their answers come together too and are committed together; one that is alone goes at once.
 */
export function begin(line: Line): void {
  if (isAlone(line)) send(line)
  else if (beginning.push(line) === 1) setImmediate(sendAll)
}

function sendAll(): void {
  const lines = beginning
  beginning = []
  for (const line of lines) send(line)
}

function send(line: Line): void {
  const { exchange } = line
  if (exchange === null || exchange.request === null) return
  const isSent = sendRequest(line, exchange.request)
  exchange.request = null
  if (!isSent) hangUp(exchange, line, false)
}

const SHARED = {
  data({ data: line }: Socket<Line>, bytes: Buffer): void {
    if (line.isDead) return
    if (line.exchange !== null) {
      hear(line.exchange, line, bytes)
      return
    }
    // Nothing was asked; what is said now would be taken for the answer to the next request.
    forgetResting(line)
    dropLine(line)
  },
  drain: ({ data: line }: Socket<Line>): void => sendRest(line),
  end: ({ data: line }: Socket<Line>): void => lose(line, true),
  close: ({ data: line }: Socket<Line>): void => lose(line, false),
  // A TLS session that fails is closed by the runtime next.
  error: ({ data: line }: Socket<Line>): void => lose(line, false),
}

const CLEAR = {
  ...SHARED,
  open(socket: Socket<Line>): void {
    if (take(socket)) stand(socket.data)
  },
}

const SECURE = {
  ...SHARED,
  open(socket: Socket<Line>): void {
    take(socket)
  },
  handshake({ data: line }: Socket<Line>, isTrusted: boolean, error: Error | null): void {
    if (line.isDead) return
    if (isTrusted) stand(line)
    else if (line.exchange !== null) fail(line.exchange, error)
  },
}

/** False when nobody waits for this connection any more. */
function take(socket: Socket<Line>): boolean {
  const line = socket.data
  line.socket = socket
  if (line.isDead) socket.terminate()
  return !line.isDead
}

/** Nothing lies between the request and its provider any more. */
function stand(line: Line): void {
  line.exchange?.leash.connected()
  begin(line)
}

function lose(line: Line, isClean: boolean): void {
  if (line.isDead) return
  const { exchange } = line
  if (exchange === null) forgetResting(line)
  else hangUp(exchange, line, isClean)
  dropLine(line)
}
