/** Adapts a fetch Request to the node:http objects that oidc-provider needs, and its answer to a Response. */
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

export interface Bridge {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Resolves once the library has ended its answer. */
  readonly answer: Promise<Response>
}

/** A stand-in for the socket, which the library inspects: it is always open. */
class Socket extends EventEmitter {
  readonly encrypted = false
  readonly readable = true
  readonly writable = true
  readonly remoteAddress: string

  constructor(peer: string) {
    super()
    this.remoteAddress = peer
  }
}

/** `body` is complete, and its size already limited; `target` is path and query. */
export function openBridge(
  request: Request,
  target: string,
  body: Uint8Array | null,
  peer: string,
): Bridge {
  const socket = new Socket(peer)
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers) headers[name] = value
  if (body !== null) headers['content-length'] = String(body.length)
  const req = Object.assign(Readable.from(body === null ? [] : [Buffer.from(body)]), {
    method: request.method,
    url: target,
    headers,
    httpVersion: '1.1',
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    complete: true,
    socket,
  })
  const reply = new Reply(socket)
  return {
    req: req as unknown as IncomingMessage,
    res: reply as unknown as ServerResponse,
    answer: reply.ended,
  }
}

/** The part of ServerResponse that Koa and its cookies use: headers and one buffered body. */
class Reply extends EventEmitter {
  statusCode = 200
  statusMessage = ''
  headersSent = false
  writableEnded = false
  finished = false
  readonly socket: Socket
  readonly ended: Promise<Response>
  readonly #resolve: (response: Response) => void
  readonly #headers = new Map<string, string | number | readonly string[]>()

  constructor(socket: Socket) {
    super()
    this.socket = socket
    const { promise, resolve } = Promise.withResolvers<Response>()
    this.ended = promise
    this.#resolve = resolve
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#headers.set(name.toLowerCase(), value)
    return this
  }

  getHeader(name: string): string | number | readonly string[] | undefined {
    return this.#headers.get(name.toLowerCase())
  }

  getHeaders(): Readonly<Record<string, string | number | readonly string[]>> {
    return Object.fromEntries(this.#headers)
  }

  getHeaderNames(): readonly string[] {
    return [...this.#headers.keys()]
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase())
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase())
  }

  flushHeaders(): void {
    this.headersSent = true
  }

  end(body?: string | Uint8Array<ArrayBuffer>): this {
    if (this.writableEnded) return this
    this.headersSent = true
    this.writableEnded = true
    this.finished = true
    const headers = new Headers()
    for (const [name, value] of this.#headers) {
      // The listener sets the length; for HEAD, the length of the body would be wrong.
      if (name === 'content-length' || name === 'transfer-encoding') continue
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, String(one))
    }
    this.#resolve(new Response(body ?? null, { status: this.statusCode, headers }))
    this.emit('finish')
    return this
  }
}
