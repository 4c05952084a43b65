/** Reaches https providers through a proxy: the proxy connects (CONNECT, RFC 9110 §9.3.6), and TLS runs inside that. */
import { Buffer } from 'node:buffer'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { UpstreamFailure } from '#domain/upstream.ts'
import { fromTransportError } from '../failure.ts'
import type { Connection, Peer, Tunnel } from './exchange.ts'

/** What happens to a tunnel: it fails, or is connected, and then receives until it is closed. */
export interface TunnelEvents {
  onFailed(connection: Connection, thrown: unknown): void
  /** The provider's certificate is accepted. */
  onConnected(connection: Connection): void
  onData(connection: Connection, bytes: Buffer): void
  onClosed(connection: Connection, isClean: boolean): void
}

/**
 * Opens one by Node's sockets, not by those that Bun has besides: of these, one with TLS cannot carry TLS, which the tunnel of a
 * proxy with an https address does.
 */
export function openTunnel(
  peer: Peer,
  tunnel: Tunnel,
  connection: Connection,
  events: TunnelEvents,
): void {
  const { hostname: host, port, tls } = peer
  const toProxy = tls === null ? connectTcp({ host, port }) : connectTls({ ...secure(host), port })
  toProxy.setNoDelay(true)
  let socket: Socket = toProxy
  connection.socket = {
    // Accepts everything: what the network does not take yet is kept.
    write(bytes, start = 0, length = bytes.length - start) {
      if (socket.destroyed) return -1
      socket.write(Buffer.from(bytes.subarray(start, start + length)))
      return length
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    ref: () => toProxy.ref(),
    unref() {
      toProxy.unref()
      socket.unref()
    },
    terminate: () => socket.destroy(),
  }
  let lose = (thrown: unknown): void => events.onFailed(connection, thrown)
  const watch = (watched: Socket): Socket =>
    watched
      .on('error', (thrown) => lose(fromTransportError(thrown)))
      .on('close', () => lose(new UpstreamFailure('failed', 'the connection broke off')))
  const ask = (): void => {
    toProxy.write(tunnel.request)
    readReply(toProxy, (refusal) => {
      if (refusal === null) upgrade()
      else lose(new UpstreamFailure('failed', `the proxy did not connect to it: ${refusal}`))
    })
  }
  const upgrade = (): void => {
    const { hostname } = tunnel
    const inner = watch(connectTls({ ...secure(hostname), socket: toProxy }))
    socket = inner
    inner.once('secureConnect', () => {
      lose = () => events.onClosed(connection, false)
      inner
        .on('data', (bytes: Buffer) => events.onData(connection, bytes))
        .on('end', () => events.onClosed(connection, true))
      if (!connection.isDead) events.onConnected(connection)
    })
  }
  watch(toProxy).once(tls === null ? 'connect' : 'secureConnect', ask)
}

const STATUS = /^HTTP\/1\.[01] (\d{3})[ \r]/
const HEAD_END = '\r\n\r\n'
const MAX_HEAD_CHARACTERS = 16_384

/** Reports why the proxy refused, or null. */
function readReply(socket: Socket, report: (refusal: string | null) => void): void {
  let head = ''
  const take = (bytes: Buffer): void => {
    head += bytes.toString('latin1')
    const end = head.indexOf(HEAD_END)
    if (end < 0 && head.length <= MAX_HEAD_CHARACTERS) return
    socket.off('data', take)
    const status = STATUS.exec(head)?.[1] ?? 'its answer is not proper HTTP'
    // In TLS the provider speaks second: nothing can follow yet.
    const isAccepted = status.startsWith('2') && end + HEAD_END.length === head.length
    report(isAccepted ? null : status)
  }
  socket.on('data', take)
}

/** An address is never sent as a server name (RFC 6066 §3); the certificate is verified for it all the same. */
const secure = (host: string): ConnectionOptions => ({
  rejectUnauthorized: true,
  ALPNProtocols: ['http/1.1'],
  host,
  servername: isIP(host) === 0 ? host : '',
})
