/** Makes connections, and passes on what their sockets say. */
import type { Socket } from 'bun'
import {
  type Connection,
  dropConnection,
  type Exchange,
  sendRequest,
  sendRest,
  startConnection,
} from './connection.ts'
import { fail, hangUp, isAlone, receive } from './exchange.ts'
import { forgetResting } from './resting.ts'
import type { Target } from './target.ts'

/**
 * Connects for an exchange and sends its request as soon as the connection stands and, with TLS, the certificate has been
 * accepted. A name is looked up and its addresses tried by the runtime.
 */
export function connect(target: Target, exchange: Exchange): void {
  const connection = startConnection(target, exchange)
  exchange.connection = connection
  const { hostname, port, tls } = target
  const connecting =
    tls === null
      ? Bun.connect({ hostname, port, data: connection, socket: CLEAR })
      : Bun.connect({ hostname, port, data: connection, socket: SECURE, tls })
  connecting.catch((thrown) => {
    connection.isDead = true
    if (connection.exchange !== null) fail(connection.exchange, thrown)
  })
}

let beginning: Connection[] = []

/**
 * Puts the request on a connection that stands. One of many goes together with all that begin in this turn of the event loop,
 * so that their answers come together too and are committed together; one that is alone goes at once.
 */
export function begin(connection: Connection): void {
  if (isAlone(connection)) send(connection)
  else if (beginning.push(connection) === 1) setImmediate(sendAll)
}

function sendAll(): void {
  const lines = beginning
  beginning = []
  for (const connection of lines) send(connection)
}

function send(connection: Connection): void {
  const { exchange } = connection
  if (exchange === null || exchange.request === null) return
  const isSent = sendRequest(connection, exchange.request)
  exchange.request = null
  if (!isSent) hangUp(exchange, connection, false)
}

const SHARED = {
  data({ data: connection }: Socket<Connection>, bytes: Buffer): void {
    if (connection.isDead) return
    if (connection.exchange !== null) {
      receive(connection.exchange, connection, bytes)
      return
    }
    // Nothing was asked; what is said now would be taken for the answer to the next request.
    forgetResting(connection)
    dropConnection(connection)
  },
  drain: ({ data: connection }: Socket<Connection>): void => sendRest(connection),
  end: ({ data: connection }: Socket<Connection>): void => lose(connection, true),
  close: ({ data: connection }: Socket<Connection>): void => lose(connection, false),
  // A TLS session that fails is closed by the runtime next.
  error: ({ data: connection }: Socket<Connection>): void => lose(connection, false),
}

const CLEAR = {
  ...SHARED,
  open(socket: Socket<Connection>): void {
    if (take(socket)) stand(socket.data)
  },
}

const SECURE = {
  ...SHARED,
  open(socket: Socket<Connection>): void {
    take(socket)
  },
  handshake(
    { data: connection }: Socket<Connection>,
    isTrusted: boolean,
    error: Error | null,
  ): void {
    if (connection.isDead) return
    if (isTrusted) stand(connection)
    else if (connection.exchange !== null) fail(connection.exchange, error)
  },
}

/** False when nobody waits for this connection any more. */
function take(socket: Socket<Connection>): boolean {
  const connection = socket.data
  connection.socket = socket
  if (connection.isDead) socket.terminate()
  return !connection.isDead
}

/** Nothing lies between the request and its provider any more. */
function stand(connection: Connection): void {
  connection.exchange?.control.connected()
  begin(connection)
}

function lose(connection: Connection, isClean: boolean): void {
  if (connection.isDead) return
  const { exchange } = connection
  if (exchange === null) forgetResting(connection)
  else hangUp(exchange, connection, isClean)
  dropConnection(connection)
}
