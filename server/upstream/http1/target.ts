/** What a connection needs to know of a URL, and the lines that begin each request to it. */
import { unescape as decode } from 'node:querystring'

/** Where a socket connects to: a provider or a proxy. */
export interface Peer {
  /** A name or an address; IPv6 without brackets. */
  readonly hostname: string
  readonly port: number
  /** Null for plain http. */
  readonly tls: Bun.TLSOptions | null
}

export interface Target {
  /** Idle connections are shared by origin. */
  readonly origin: string
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

/** Both URLs are absolute, http or https; only the proxy's may have a user and a password. */
export function toTarget(url: URL, proxy: URL | null): Target {
  const { origin } = url
  const path = url.pathname + url.search
  const provider = toPeer(url)
  if (proxy === null) {
    return { origin, peer: provider, tunnel: null, requestPrefix: toPrefix(url, path) }
  }
  const peer = toPeer(proxy)
  const credential = toCredential(proxy)
  // A proxy that forwards requests is told the whole URL (RFC 9112 §3.2.2).
  if (provider.tls === null) {
    const requestPrefix = toPrefix(url, origin + path) + credential
    return { origin, peer, tunnel: null, requestPrefix }
  }
  const place = `${url.hostname}:${provider.port}`
  const request = `CONNECT ${place} HTTP/1.1\r\nhost: ${place}\r\n${credential}\r\n`
  const tunnel = { hostname: provider.hostname, request }
  return { origin, peer, tunnel, requestPrefix: toPrefix(url, path) }
}

function toPeer({ protocol, hostname, port }: URL): Peer {
  const isTls = protocol === 'https:'
  return {
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (isTls ? 443 : 80),
    tls: isTls ? TLS : null,
  }
}

const toPrefix = ({ host }: URL, path: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`

function toCredential({ username, password }: URL): string {
  if (username === '' && password === '') return ''
  const pair = Buffer.from(`${decode(username)}:${decode(password)}`)
  return `proxy-authorization: Basic ${pair.toString('base64')}\r\n`
}
