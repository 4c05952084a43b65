/** Our own HTTP/1.1 client: posts on an idle connection when there is one, else opens a new one. */
import type { Socket } from 'bun'
import { noteCertificate } from '../certificates.ts'
import { readProxy } from '../proxy.ts'
import type { Post } from '../reply.ts'
import {
  Connection,
  dropConnection,
  Exchange,
  fail,
  forgetIdle,
  isOnlyExchange,
  type Method,
  onPeerClosed,
  type RequestText,
  receive,
  sendRequest,
  sendRest,
  type Target,
  takeIdle,
  toRequestText,
  toTarget,
} from './exchange.ts'
import { openTunnel, type TunnelEvents } from './tunnel.ts'

/**
 * The client for an absolute http or https URL, through the proxy that the environment names for it. Opens no connection.
 * @throws UpstreamFailure `failed` when the environment's proxy cannot be used
 */
export function openPost(address: string, method: Method = 'POST'): Post {
  const url = new URL(address)
  return postOverConnection(toTarget(url, readProxy(url, process.env), method))
}

/** The number of connections is not limited: concurrent requests never wait for each other. */
export const postOverConnection =
  (target: Target): Post =>
  (message, handler, control, fresh) => {
    let request: RequestText
    try {
      request = toRequestText(target, message)
    } catch (thrown) {
      handler.reject(thrown)
      return
    }
    const exchange = new Exchange(request, handler, control, fresh)
    // Cancelled before anything was sent.
    if (control.isAborted) return
    const connection = fresh ? undefined : takeIdle(target)
    if (connection === undefined) {
      control.connecting()
      connect(target, exchange)
    } else {
      exchange.connection = connection
      connection.exchange = exchange
      sendOrQueue(connection)
    }
  }

/**
 * Connects for an exchange and sends its request once the connection is established and, with TLS, the certificate accepted.
 * The runtime resolves the name and tries its addresses.
 */
function connect(target: Target, exchange: Exchange): void {
  const connection = new Connection(target, exchange)
  exchange.connection = connection
  const { peer, tunnel } = target
  if (tunnel !== null) {
    openTunnel(peer, tunnel, connection, TUNNELLED)
    return
  }
  const { hostname, port, tls } = peer
  const connecting =
    tls === null
      ? Bun.connect({ hostname, port, data: connection, socket: CLEAR })
      : Bun.connect({ hostname, port, data: connection, socket: SECURE, tls })
  connecting.catch((thrown) => {
    connection.isDead = true
    if (connection.exchange !== null) fail(connection.exchange, thrown)
  })
}

let queued: Connection[] = []

/**
 * Sends the request on an established connection: at once when it is the only one in progress; otherwise together with all that
 * start in this turn of the event loop, so that their answers arrive, and are committed, together.
 */
function sendOrQueue(connection: Connection): void {
  if (isOnlyExchange(connection)) send(connection)
  else if (queued.push(connection) === 1) setImmediate(sendAll)
}

function sendAll(): void {
  const connections = queued
  queued = []
  for (const connection of connections) send(connection)
}

function send(connection: Connection): void {
  const { exchange } = connection
  if (exchange === null || exchange.request === null) return
  const isSent = sendRequest(connection, exchange.request)
  exchange.request = null
  if (!isSent) onPeerClosed(exchange, connection, false)
}

const SHARED = {
  data: ({ data: connection }: Socket<Connection>, bytes: Buffer): void =>
    onData(connection, bytes),
  drain: ({ data: connection }: Socket<Connection>): void => void sendRest(connection),
  end: ({ data: connection }: Socket<Connection>): void => onClosed(connection, true),
  close: ({ data: connection }: Socket<Connection>): void => onClosed(connection, false),
  // The runtime closes a failed TLS session next.
  error: ({ data: connection }: Socket<Connection>): void => onClosed(connection, false),
}

const CLEAR = {
  ...SHARED,
  open(socket: Socket<Connection>): void {
    if (attachSocket(socket)) onConnected(socket.data)
  },
}

const SECURE = {
  ...SHARED,
  open(socket: Socket<Connection>): void {
    attachSocket(socket)
  },
  handshake(socket: Socket<Connection>, isTrusted: boolean, error: Error | null): void {
    const { data: connection } = socket
    noteCertificate(connection.target.peer.hostname, socket.getPeerX509Certificate())
    if (connection.isDead) return
    if (isTrusted) onConnected(connection)
    else if (connection.exchange !== null) fail(connection.exchange, error)
  },
}

/** False when the exchange was aborted while connecting. */
function attachSocket(socket: Socket<Connection>): boolean {
  const connection = socket.data
  connection.socket = socket
  if (connection.isDead) socket.terminate()
  return !connection.isDead
}

const TUNNELLED: TunnelEvents = { onConnected, onData, onClosed, onFailed }

function onData(connection: Connection, bytes: Buffer): void {
  if (connection.isDead) return
  const { exchange } = connection
  if (exchange !== null) {
    // Before anything of the request was written they answer none of ours, so that it may be asked again.
    if (exchange.request !== null && connection.idleUntilMs > 0) {
      onPeerClosed(exchange, connection, false)
    } else receive(exchange, connection, bytes)
    return
  }
  // No request is pending: these bytes would be taken for the answer to the next one.
  forgetIdle(connection)
  dropConnection(connection)
}

function onFailed(connection: Connection, thrown: unknown): void {
  if (connection.isDead) return
  if (connection.exchange !== null) fail(connection.exchange, thrown)
  dropConnection(connection)
}

function onConnected(connection: Connection): void {
  connection.exchange?.control.connected()
  sendOrQueue(connection)
}

function onClosed(connection: Connection, isClean: boolean): void {
  if (connection.isDead) return
  const { exchange } = connection
  if (exchange === null) forgetIdle(connection)
  else onPeerClosed(exchange, connection, isClean)
  dropConnection(connection)
}
