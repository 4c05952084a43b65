// A provider on raw sockets, which can violate any rule of HTTP, and functions to post to it.
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { toTarget } from '#upstream/http1/exchange.ts'
import { postOverConnection } from '#upstream/http1/post.ts'
import type { Abortable, ExchangeControl, Message, Reply } from '#upstream/reply.ts'

/** One connection, as the provider sees it. */
export interface RawLine {
  readonly socket: Socket
  /** From 0, in the order in which they were opened. */
  readonly n: number
  /** The next whole request, in latin1; null when the other side has closed. */
  request(): Promise<string | null>
  /** Resolves once the connection is closed. */
  readonly closed: Promise<void>
}

export interface RawProvider {
  readonly url: URL
  readonly lines: readonly RawLine[]
  /** The number of open connections. */
  readonly open: number
  /** Refuses further connections. */
  stopListening(): void
}

export type Certificate = { readonly key: string; readonly cert: string }

/** Serves each connection by `serve`, until the end of the test. */
export async function startRaw(
  serve: (line: RawLine) => unknown,
  certificate?: Certificate,
): Promise<RawProvider> {
  const lines: RawLine[] = []
  let open = 0
  const take = (socket: Socket): void => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    open++
    socket.on('error', () => {})
    socket.on('close', () => {
      open--
      resolve()
    })
    const line = { socket, n: lines.length, closed, request: readRequests(socket, closed) }
    lines.push(line)
    void serve(line)
  }
  const server: Server = certificate ? createTlsServer(certificate, take) : createServer(take)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 511, resolve))
  onTestFinished(() => {
    server.close()
    for (const { socket } of lines) socket.destroy()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const scheme = certificate ? 'https' : 'http'
  return {
    url: new URL(`${scheme}://127.0.0.1:${address.port}/v1/chat`),
    lines,
    get open() {
      return open
    },
    stopListening: () => void server.close(),
  }
}

function readRequests(socket: Socket, closed: Promise<void>): () => Promise<string | null> {
  let text = ''
  let gone = false
  let look = (): void => {}
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
    look()
  })
  void closed.then(() => {
    gone = true
    look()
  })
  const cut = (): string | null => {
    const head = text.indexOf('\r\n\r\n') + 4
    const length = /content-length: (\d+)/i.exec(text.slice(0, Math.max(0, head)))
    if (head < 4 || length === null || text.length < head + Number(length[1])) return null
    const request = text.slice(0, head + Number(length[1]))
    text = text.slice(request.length)
    return request
  }
  return () =>
    new Promise((resolve) => {
      look = () => {
        const request = cut()
        if (request === null && !gone) return
        look = () => {}
        resolve(request)
      }
      look()
    })
}

/** An answer with a Content-Length. */
export const answer = (body = 'ok', fields = ''): string =>
  `HTTP/1.1 200 OK\r\n${fields}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Answers every request. */
export const answerAll =
  (text = answer()) =>
  async ({ request, socket }: RawLine): Promise<void> => {
    while ((await request()) !== null) socket.write(text)
  }

export interface HandControl extends ExchangeControl {
  abort(reason: unknown): void
}

export function handControl(): HandControl {
  let aborted: { readonly reason: unknown } | null = null
  let attached: Abortable | null = null
  return {
    get isAborted() {
      return aborted !== null
    },
    attach(next) {
      attached = next
      if (aborted) attached.abort(aborted.reason)
    },
    connecting() {},
    connected() {},
    sent() {},
    abort(reason) {
      aborted ??= { reason }
      attached?.abort(reason)
    },
  }
}

interface PostOptions extends Partial<Message> {
  readonly control?: ExchangeControl
  readonly fresh?: boolean
  readonly proxy?: URL
}

export function post({ url }: Pick<RawProvider, 'url'>, options: PostOptions = {}): Promise<Reply> {
  const opening = Promise.withResolvers<Reply>()
  postOverConnection(toTarget(url, options.proxy ?? null))(
    { headers: options.headers ?? {}, body: options.body ?? '{}' },
    opening,
    options.control ?? handControl(),
    options.fresh ?? false,
  )
  return opening.promise
}

/** The whole body, as text. */
export async function readAll(reply: Reply): Promise<string> {
  const pieces: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reply.read()
    if (done) return Buffer.concat(pieces).toString()
    pieces.push(value)
  }
}

/** Posts and reads the whole answer. */
export const exchange = async (
  provider: Pick<RawProvider, 'url'>,
  options: PostOptions = {},
): Promise<string> => await readAll(await post(provider, options))

/** Waits until the condition holds; fails after five seconds. */
export async function until(isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + 5_000
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(`still not so: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
