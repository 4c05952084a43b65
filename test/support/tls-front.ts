/** A TLS proxy on loopback, as an operator puts one before the appliance: it ends TLS and hands the bytes on as they are. */
import { type AddressInfo, connect, createServer as createPlainServer } from 'node:net'
import { createServer } from 'node:tls'

const FIXTURES = new URL('../upstream/http1/fixtures/', import.meta.url)

export interface TlsFront {
  /** `https://127.0.0.1:port` */
  readonly url: string
  /** Whom to trust, in PEM. */
  readonly ca: string
  /** The same as a file. */
  readonly caFile: string
  close(): void
}

/** Leads to a port of this machine, whether anybody listens there yet or not. */
export async function openTlsFront(port: number): Promise<TlsFront> {
  const certificate = new URL('localhost-cert.pem', FIXTURES)
  const cert = await Bun.file(certificate).text()
  const key = await Bun.file(new URL('localhost-key.pem', FIXTURES)).text()
  const server = createServer({ cert, key }, (outer) => {
    const inner = connect(port, '127.0.0.1')
    outer.on('error', () => inner.destroy())
    inner.on('error', () => outer.destroy())
    outer.pipe(inner).pipe(outer)
  })
  const own = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  return {
    url: `https://127.0.0.1:${own}`,
    ca: cert,
    caFile: certificate.pathname,
    close: () => server.close(),
  }
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createPlainServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<unknown>((resolve) => server.close(resolve))
  return port
}
