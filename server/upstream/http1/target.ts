/** What a connection needs to know of a URL, and the lines that begin each request to it. */

export interface Target {
  /** Idle connections are shared by origin. */
  readonly origin: string
  /** A name or an address; IPv6 without brackets. */
  readonly hostname: string
  readonly port: number
  /** Null for plain http. */
  readonly tls: Bun.TLSOptions | null
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

/** `url` is absolute, http or https, without user and password: the operator API accepts no other. */
export function toTarget(url: URL): Target {
  const isTls = url.protocol === 'https:'
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    origin: url.origin,
    hostname,
    port: Number(url.port) || (isTls ? 443 : 80),
    tls: isTls ? TLS : null,
    requestPrefix:
      `POST ${url.pathname}${url.search} HTTP/1.1\r\n` +
      `host: ${url.host}\r\nconnection: keep-alive\r\n`,
  }
}
