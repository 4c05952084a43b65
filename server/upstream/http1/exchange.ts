/** One request and its answer on a connection, which then waits for the next: the head, the body, and every way to end. */
import { Buffer } from 'node:buffer'
import { unescape as decode } from 'node:querystring'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { ExchangeControl, Message, Piece, Reply, ReplyHandler } from '../reply.ts'
import { cutPiece, cutText, endsAtClose, type Head, Parser, takeBytes } from './parser.ts'

/** Where a socket connects to: a provider or a proxy. */
export interface Peer {
  /** A name or an address; IPv6 without brackets. */
  readonly hostname: string
  readonly port: number
  /** Null for plain http. */
  readonly tls: Bun.TLSOptions | null
}

export interface Target {
  /** Idle connections, the latest last; targets of the same origin share them. */
  readonly idle: Connection[]
  readonly peer: Peer
  /** Null unless the peer is a proxy that is asked to connect to the provider, whose TLS it cannot see. */
  readonly tunnel: Tunnel | null
  /** The request line and the constant fields. */
  readonly requestPrefix: string
}

/**
 * The certificate is verified for the host name against the runtime's store, extended by `NODE_EXTRA_CA_CERTS` and
 * `SSL_CERT_FILE`.
 */
const TLS: Bun.TLSOptions = {
  rejectUnauthorized: true,
  // ALPN (RFC 7301) with one entry; without it some load balancers guess.
  ALPNProtocols: Buffer.from('\x08http/1.1'),
}

/** What is asked of a proxy before TLS begins. */
export interface Tunnel {
  /** The provider's. */
  readonly hostname: string
  /** The CONNECT request. */
  readonly request: string
}

export type Method = 'GET' | 'POST'

/** Both URLs are absolute, http or https; only the proxy's may have a user and a password. */
export function toTarget(url: URL, proxy: URL | null, method: Method = 'POST'): Target {
  const { origin, host } = url
  const idle = poolOf(origin)
  const path = url.pathname + url.search
  const toPrefix = (asked: string): string =>
    `${method} ${asked} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  const provider = toPeer(url)
  if (proxy === null) {
    return { idle, peer: provider, tunnel: null, requestPrefix: toPrefix(path) }
  }
  const peer = toPeer(proxy)
  const credential = toCredential(proxy)
  // A proxy that forwards requests is told the whole URL (RFC 9112 §3.2.2).
  if (provider.tls === null) {
    const requestPrefix = toPrefix(origin + path) + credential
    return { idle, peer, tunnel: null, requestPrefix }
  }
  const place = `${url.hostname}:${provider.port}`
  const request = `CONNECT ${place} HTTP/1.1\r\nhost: ${place}\r\n${credential}\r\n`
  const tunnel = { hostname: provider.hostname, request }
  return { idle, peer, tunnel, requestPrefix: toPrefix(path) }
}

function toPeer({ protocol, hostname, port }: URL): Peer {
  const isTls = protocol === 'https:'
  return {
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (isTls ? 443 : 80),
    tls: isTls ? TLS : null,
  }
}

function toCredential({ username, password }: URL): string {
  if (username === '' && password === '') return ''
  const pair = Buffer.from(`${decode(username)}:${decode(password)}`)
  return `proxy-authorization: Basic ${pair.toString('base64')}\r\n`
}

/** Head and body, in order. */
export interface RequestText {
  readonly pieces: readonly (string | Uint8Array)[]
  /** Their length in UTF-8. */
  readonly bytes: number
}

/** Anything else could inject a line, or another request. */
const NAME = /^[!#$%&'*+.^_`|~\da-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/

/** @throws UpstreamFailure `failed` when a field has forbidden characters, as a badly pasted credential can have */
export function toRequestText(
  { requestPrefix }: Target,
  { headers, requestId, body }: Message,
): RequestText {
  const pieces = typeof body === 'string' || body instanceof Uint8Array ? [body] : body
  let bodyBytes = 0
  for (const piece of pieces) bodyBytes += Buffer.byteLength(piece)
  const own = requestId === undefined ? '' : `x-request-id: ${requestId}\r\n`
  // Only a GET has none.
  const length = bodyBytes === 0 ? '' : `content-length: ${bodyBytes}\r\n`
  const head = `${requestPrefix}${length}${toLines(headers)}${own}\r\n`
  return { pieces: [head, ...pieces], bytes: head.length + bodyBytes }
}

/** Writes the request to the beginning of `into`, which must be large enough. */
function writeText({ pieces }: RequestText, into: Buffer): void {
  let at = 0
  for (const piece of pieces) at += write(piece, into, at)
}

/** Returns how many bytes it was. */
function write(piece: string | Uint8Array, into: Buffer, at: number): number {
  if (typeof piece === 'string') return into.write(piece, at)
  into.set(piece, at)
  return piece.length
}

/** The headers of a provider are serialised once. */
const written = new WeakMap<Message['headers'], string>()

function toLines(headers: Message['headers']): string {
  const known = written.get(headers)
  if (known !== undefined) return known
  let lines = ''
  for (const name in headers) lines += toLine(name, headers[name] ?? '')
  written.set(headers, lines)
  return lines
}

function toLine(name: string, value: string): string {
  if (!NAME.test(name) || !VALUE.test(value)) {
    throw new UpstreamFailure('failed', `the ${name} header holds characters that cannot be sent`)
  }
  return `${name}: ${value}\r\n`
}

/** What a connection needs of a socket. */
interface Line {
  /** How many bytes it accepted; it copies them. Negative when it is closed. */
  write(bytes: Buffer, start?: number, length?: number): number
  pause(): unknown
  resume(): unknown
  ref(): unknown
  unref(): unknown
  /** Closes at once. */
  terminate(): unknown
}

export class Connection {
  readonly target: Target
  /** Null until it is established; through a proxy's tunnel, from the beginning. */
  socket: Line | null = null
  /** Null while it is idle. */
  exchange: Exchange | null
  /** What the socket has not accepted yet of the request, in order. */
  unsent: (string | Uint8Array)[] = []
  /** On the clock of `performance`. */
  idleUntilMs = 0
  isPaused = false
  isDead = false

  constructor(target: Target, exchange: Exchange) {
    this.target = target
    this.exchange = exchange
  }
}

/**
 * Requests are written into this buffer before they are sent: the socket copies what it accepts, and reused memory is in the
 * CPU's cache. Passing a string would flatten and encode it into new memory.
 */
const sendBuffer = Buffer.allocUnsafeSlow(262_144)

/** Sends what the socket accepts; the rest follows when it drains. False when the connection is closed. */
export function sendRequest(connection: Connection, request: RequestText): boolean {
  const { bytes, pieces } = request
  if (bytes > sendBuffer.length) {
    connection.unsent = [...pieces]
    return sendRest(connection)
  }
  writeText(request, sendBuffer)
  return sendFilled(connection, bytes) !== 'closed'
}

/** Sends more, after the socket has drained. False when the connection is closed: the socket's `close` event follows. */
export function sendRest(connection: Connection): boolean {
  for (;;) {
    const filled = fill(connection.unsent)
    if (filled === 0) return true
    const became = sendFilled(connection, filled)
    if (became !== 'sent') return became === 'full'
  }
}

/** Sends what the buffer holds, and keeps what the socket does not accept. */
function sendFilled(connection: Connection, bytes: number): 'sent' | 'full' | 'closed' {
  const { socket, exchange, unsent } = connection
  const sent = socket?.write(sendBuffer, 0, bytes) ?? -1
  if (sent < 0) return 'closed'
  if (sent > 0) exchange?.control.sent()
  if (sent === bytes) return 'sent'
  unsent.unshift(Buffer.from(sendBuffer.subarray(sent, bytes)))
  return 'full'
}

const encoder = new TextEncoder()

/** Takes as much of `unsent` as the buffer holds. Answers how many bytes that are. */
function fill(unsent: Connection['unsent']): number {
  let at = 0
  for (let next = unsent[0]; next !== undefined; next = unsent[0]) {
    const room = at === 0 ? sendBuffer : sendBuffer.subarray(at)
    const { read, written } = copyInto(room, next)
    at += written
    if (read < next.length) {
      unsent[0] = typeof next === 'string' ? next.slice(read) : next.subarray(read)
      return at
    }
    unsent.shift()
  }
  return at
}

/** How much of the piece fits, in its own units and in bytes; no character is split. */
function copyInto(room: Uint8Array, piece: string | Uint8Array): { read: number; written: number } {
  if (typeof piece === 'string') return encoder.encodeInto(piece, room)
  const bytes = Math.min(room.length, piece.length)
  room.set(piece.subarray(0, bytes))
  return { read: bytes, written: bytes }
}

/** Stops reading, so that TCP slows the provider down. */
function pauseConnection(connection: Connection): void {
  if (connection.isPaused) return
  connection.isPaused = true
  connection.socket?.pause()
}

function resumeConnection(connection: Connection): void {
  if (!connection.isPaused) return
  connection.isPaused = false
  connection.socket?.resume()
}

/** Closes at once. One that is still connecting is closed once it is established: connecting without a tunnel cannot be cancelled. */
export function dropConnection(connection: Connection): void {
  if (connection.isDead) return
  connection.isDead = true
  connection.exchange = null
  connection.unsent = []
  connection.socket?.terminate()
}

const MAX_PER_ORIGIN = 1_024
const SWEEP_MS = 1_000

/** By origin; there are as many as providers were asked at. */
const pools = new Map<string, Connection[]>()
let sweeper: ReturnType<typeof setInterval> | null = null

function poolOf(origin: string): Connection[] {
  const known = pools.get(origin) ?? []
  pools.set(origin, known)
  return known
}

/** Takes an idle connection that has not expired; undefined when there is none. */
export function takeIdle({ idle }: Target): Connection | undefined {
  const nowMs = performance.now()
  for (;;) {
    const connection = idle.pop()
    if (connection === undefined || connection.idleUntilMs > nowMs) {
      connection?.socket?.ref()
      return connection
    }
    dropConnection(connection)
  }
}

/** Adds a connection, or closes it when the pool is full. Idle connections do not keep the process alive. */
function keepIdle(connection: Connection, idleMs: number): void {
  const { idle } = connection.target
  if (idle.length >= MAX_PER_ORIGIN) {
    dropConnection(connection)
    return
  }
  connection.idleUntilMs = performance.now() + idleMs
  connection.socket?.unref()
  idle.push(connection)
  sweeper ??= setInterval(sweep, SWEEP_MS).unref()
}

/** Removes a connection that the provider has closed. */
export function forgetIdle(connection: Connection): void {
  const { idle } = connection.target
  const index = idle.lastIndexOf(connection)
  if (index >= 0) idle.splice(index, 1)
}

export const countIdle = (origin: string): number => poolOf(origin).length

function sweep(): void {
  const nowMs = performance.now()
  let kept = 0
  for (const idle of pools.values()) {
    const fresh = idle.filter((connection) => connection.idleUntilMs > nowMs)
    for (const connection of idle) if (connection.idleUntilMs <= nowMs) dropConnection(connection)
    idle.splice(0, idle.length, ...fresh)
    kept += fresh.length
  }
  if (kept > 0 || sweeper === null) return
  clearInterval(sweeper)
  sweeper = null
}

/** Beyond it the connection is paused. The runtime reads at most half a mebibyte at once. */
const MAX_BUFFERED_BYTES = 262_144
/** The cost of an object, so that many tiny pieces count as well. */
const PIECE_BYTES = 256

const END: Piece = { done: true }

/** Exchanges in progress, with all providers. */
let activeExchanges = 0

/** Whether this is the only exchange in progress and the provider has no idle connection, so had no two at once recently. */
export const isOnlyExchange = ({ target }: Connection): boolean =>
  activeExchanges < 2 && target.idle.length === 0

/** One request and, from its head on, its answer. A class because there is one per request; it is also the reply. */
export class Exchange implements Reply {
  /** Null once it was sent: an answer may take minutes, and a request may be large. */
  request: RequestText | null
  readonly parser = new Parser()
  readonly control: ExchangeControl
  /** It asked for a new connection, which need not be kept afterwards. */
  readonly isDedicated: boolean
  /** Null before it has one and after the exchange has ended. */
  connection: Connection | null = null
  /** Receives the head; null once it has. */
  handler: ReplyHandler | null
  /** False when the provider compressed the body although `identity` was requested. */
  isUncompressed = true
  /** The whole body arrived with the head and still lies in the parser's buffer. */
  hasWholeBody = false
  /** The pending read. */
  reading: Pick<PromiseWithResolvers<Piece>, 'resolve' | 'reject'> | null = null
  /** Pieces that were not read yet. */
  readonly buffered: Uint8Array[] = []
  bufferedBytes = 0
  fault: { readonly thrown: unknown } | null = null

  constructor(
    request: RequestText,
    handler: ReplyHandler,
    control: ExchangeControl,
    isDedicated: boolean,
  ) {
    this.request = request
    this.handler = handler
    this.control = control
    this.isDedicated = isDedicated
    // It ends once, in `fail` or in `finish`.
    activeExchanges++
    control.attach(this)
  }

  get status(): number {
    return this.headers.status
  }

  get headers(): Head {
    const { head } = this.parser
    if (head === null) throw new Error('its head has not come')
    return head
  }

  read(): Piece | Promise<Piece> {
    return this.isUncompressed ? read(this) : refuseCoding(this)
  }

  takeText(mostBytes: number): string | null {
    const { start, end } = this.parser
    if (!this.hasWholeBody || !this.isUncompressed || end - start > mostBytes) return null
    this.hasWholeBody = false
    return cutText(this.parser)
  }

  forgetHead(): void {
    this.parser.head?.forget()
  }

  abort(reason: unknown): void {
    abortExchange(this, reason)
  }
}

/** Handles received bytes; the exchange owns them from now on. */
export function receive(exchange: Exchange, connection: Connection, bytes: Buffer): void {
  const { parser, handler } = exchange
  try {
    takeBytes(parser, bytes)
  } catch (thrown) {
    fail(exchange, thrown)
    return
  }
  if (parser.isComplete && handler !== null) exchange.hasWholeBody = true
  else if (parser.end > parser.start) deliver(exchange, cutPiece(parser), bytes.length)
  if (parser.isComplete) finish(exchange, connection)
  else if (exchange.bufferedBytes > MAX_BUFFERED_BYTES) pauseConnection(connection)
  if (handler === null || parser.head === null) return
  exchange.handler = null
  exchange.isUncompressed = isUncompressed(parser.head)
  // Last, because the handler may read or abort at once.
  handler.resolve(exchange)
}

function isUncompressed(head: Head): boolean {
  const coding = head.get('content-encoding')
  return coding === null || coding === '' || coding.toLowerCase() === 'identity'
}

/** The provider has closed the connection; `isClean` for an orderly close (FIN, TLS close_notify). */
export function onPeerClosed(exchange: Exchange, connection: Connection, isClean: boolean): void {
  const { parser } = exchange
  if (isClean && endsAtClose(parser)) {
    parser.isComplete = true
    finish(exchange, connection)
    return
  }
  // A provider that closes a new connection may have read the request, so that it must not be sent again.
  const wasIdle = connection.idleUntilMs > 0
  fail(exchange, parser.hasReceived || !wasIdle ? connectionLost() : nothingReceived())
}

/** Ends it with a failure. Pieces that arrived before can still be read. */
export function fail(exchange: Exchange, thrown: unknown): void {
  const { connection, handler, reading } = exchange
  if (exchange.fault !== null || exchange.parser.isComplete) return
  activeExchanges--
  exchange.fault = { thrown }
  exchange.connection = null
  exchange.handler = null
  exchange.reading = null
  if (connection !== null) dropConnection(connection)
  handler?.reject(thrown)
  reading?.reject(thrown)
}

/** Ends it because the caller cancelled; buffered pieces are dropped. */
function abortExchange(exchange: Exchange, reason: unknown): void {
  fail(exchange, reason)
  exchange.fault ??= { thrown: reason }
  exchange.hasWholeBody = false
  exchange.buffered.length = 0
  exchange.bufferedBytes = 0
}

function deliver(exchange: Exchange, piece: Uint8Array, costBytes: number): void {
  const { reading } = exchange
  if (reading === null) {
    exchange.buffered.push(piece)
    exchange.bufferedBytes += costBytes + PIECE_BYTES
    return
  }
  exchange.reading = null
  reading.resolve({ done: false, value: piece })
}

/** A connection is not kept when its answer came before the whole request was sent: the rest would be read as the next request. */
function finish(exchange: Exchange, connection: Connection): void {
  const { idleMs } = exchange.parser
  activeExchanges--
  exchange.connection = null
  connection.exchange = null
  resumeConnection(connection)
  if (idleMs > 0 && connection.unsent.length === 0 && isWorthKeeping(exchange, connection))
    keepIdle(connection, idleMs)
  else dropConnection(connection)
  exchange.reading?.resolve(END)
  exchange.reading = null
}

/** Exchanges with dedicated connections never reuse idle ones, so that their connections would pile up. */
const isWorthKeeping = ({ isDedicated }: Exchange, { target }: Connection): boolean =>
  !isDedicated || target.idle.length === 0

function read(exchange: Exchange): Piece | Promise<Piece> {
  if (exchange.hasWholeBody) {
    exchange.hasWholeBody = false
    const value = cutPiece(exchange.parser)
    if (value.length > 0) return { done: false, value }
  }
  const value = exchange.buffered.shift()
  if (value !== undefined) {
    if (exchange.buffered.length === 0) {
      exchange.bufferedBytes = 0
      if (exchange.connection !== null) resumeConnection(exchange.connection)
    }
    return { done: false, value }
  }
  if (exchange.fault !== null) return Promise.reject(exchange.fault.thrown)
  if (exchange.parser.isComplete) return END
  const reading = Promise.withResolvers<Piece>()
  exchange.reading = reading
  return reading.promise
}

/** `identity` was requested. Nothing is decompressed, because a small answer could inflate without bound. */
function refuseCoding(exchange: Exchange): Promise<Piece> {
  const failure = new UpstreamFailure('failed', 'it compressed an answer that was asked for plain')
  abortExchange(exchange, failure)
  return Promise.reject(failure)
}

const connectionLost = (): UpstreamFailure =>
  new UpstreamFailure('failed', 'the connection broke off')

/** The only failure that is retried: its code marks it (`isConnectionLost`). */
const nothingReceived = (): Error =>
  Object.assign(new Error('the connection broke off'), { code: 'ECONNRESET' })
