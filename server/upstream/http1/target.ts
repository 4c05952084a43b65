/** Where a request goes: what the connection needs to know of a URL, and the lines that open each request to it. */

export interface Target {
  /** Connections are shared by everyone who posts to this origin. */
  readonly origin: string
  /** A name or an address, without the brackets of IPv6. */
  readonly hostname: string
  readonly port: number
  /** Null speaks in clear text. */
  readonly tls: Bun.TLSOptions | null
  /** The request line and the fields that never change. */
  readonly requestPrefix: string
}

/**
 * The certificate is judged by the runtime's store, to which `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE` add, and by the name
 * that is connected to.
 */
const TLS: Bun.TLSOptions = {
  rejectUnauthorized: true,
  // RFC 7301's list, with one entry; without it some front doors guess.
  ALPNProtocols: Buffer.from('\x08http/1.1'),
}

/** Reads an absolute http or https URL, which the operator's edge lets in only without a user and a password. */
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
